// SPDX-License-Identifier: Apache-2.0
// The page of `sinew serve` in a real browser: jobs that wait, run with their GPUs and end.
// node service_browser_test.mjs SINEW KEY STATE_FOLDER [SCREENSHOT_FOLDER]
import {execFileSync, spawn} from "node:child_process";
import {strict as assert} from "node:assert";
import {addressOf, becomes, run, text, watch} from "./browser.mjs";

const [sinew, key, state, screenshots] = process.argv.slice(2);

function listeningAt(server) {
  return new Promise((resolve) => {
    let words = "";
    server.stdout.on("data", (bytes) => {
      words += bytes;
      const found = words.match(/listening on (\S+)/);
      if (found) resolve(found[1]);
    });
  });
}

let at = "";   // where the server listens

const sinewDoes = (...words) => execFileSync(sinew, [words[0], "--at", at, "--key", key, ...words.slice(1)], {stdio: ["ignore", "pipe", "pipe"]});
const submit = (name, ...words) => sinewDoes("run", "-d", "--name", name, ...words);

async function check(browser, server) {
  const [listening, {server: address, fragment}] = await Promise.all([listeningAt(server), addressOf(server)]);
  at = listening;
  const context = await browser.newContext({viewport: {width: 1320, height: 1080}, colorScheme: "light"});
  const page = await context.newPage();
  watch(page, address);
  await page.goto(address + fragment);
  await becomes("the page is live", async () => (await text(page, "#connection")) === "Live");

  // A server without jobs: no parts of a job, an empty queue, free GPUs.
  await becomes("the server is shown", async () => (await text(page, "#job-state")) === "running");
  for (const hidden of ["#ranks-card", "#pools-card", "#throughput-card", "#cause", "#ended-card"])
    assert.equal(await page.locator(hidden).isVisible(), false, `${hidden} is hidden`);
  assert.equal(await page.locator("#queue-empty").isVisible(), true);
  await becomes("its GPUs are free", async () => (await page.locator("#gpus li[data-free=true]").count()) === 2);

  // One job gets both GPUs, the next one waits.
  submit("train", "--gpu", "2", "--time-limit", "2h", "sh", "-c", "i=0; while :; do echo step $i; i=$((i+1)); sleep 0.3; done");
  const row = (name) => page.locator("#queue tr", {hasText: name});
  await becomes("the job runs", async () => (await row("train").count()) === 1 && (await row("train").getAttribute("data-state")) === "running");
  assert.match(await row("train").textContent(), /0,1/);
  submit("eval", "--gpu", "1", "--priority", "7", "true");
  await becomes("the next one waits", async () => (await row("eval").count()) === 1 && (await row("eval").getAttribute("data-state")) === "waiting");
  assert.match(await row("eval").textContent(), /7.*1 wanted/);
  await becomes("the GPUs are held", async () => (await page.locator("#gpus li", {hasText: "held by train"}).count()) === 2);
  await becomes("so says the head", async () => (await text(page, "#gpus-held")) === "2 of 2" && (await text(page, "#jobs-waiting")) === "1");
  await becomes("the lease is shown", async () => /train.*2 GPUs/.test(await text(page, "#leases tr")));
  await becomes("the output is shown", async () => (await page.locator("#log .stdout", {hasText: "step 3"}).count()) > 0);
  assert.equal(await text(page, "#log .stdout .who"), "[train] ");
  const age = await row("train").locator(".age").textContent();
  await becomes("ages grow", async () => (await row("train").locator(".age").textContent()) !== age);

  if (screenshots) {
    submit("sweep-1", "--gpu", "2", "sleep", "1");
    submit("sweep-2", "--gpu", "2", "--priority", "-5", "sleep", "1");
    await new Promise((resume) => setTimeout(resume, 3000));
    await page.screenshot({path: `${screenshots}/service-waiting.png`, fullPage: true});
  }

  // The first is stopped, the other one runs to its end, and the GPUs are free.
  sinewDoes("stop", "train");
  const ended = (name) => page.locator("#ended tr", {hasText: name});
  await becomes("the job has ended", async () => (await ended("train").count()) === 1);
  assert.match(await ended("train").textContent(), /cancelled/);
  await becomes("the next one ran", async () => (await ended("eval").count()) === 1);
  assert.match(await ended("eval").textContent(), /✓ completed0/);
  await becomes("the queue is empty", async () => (await page.locator("#queue tr").count()) === 0);
  await becomes("the GPUs are free again", async () => (await page.locator("#gpus li[data-free=true]").count()) === 2);
  for (const event of ["train) was submitted", "train) has started on GPU 0,1", "train) is cancelled", "eval) has ended: completed"])
    assert.equal(await page.locator("#events li", {hasText: event}).count(), 1, event);

  if (screenshots) {
    submit("train-lr3", "--gpu", "1", "--cpu", "1", "--time-limit", "2h", "sh", "-c", "i=0; while :; do echo \"step $i loss 0.$((9000 - i))\"; i=$((i+1)); sleep 0.4; done");
    submit("finetune", "--gpu", "1", "sh", "-c", "i=0; while :; do echo \"epoch $i\"; i=$((i+1)); sleep 0.7; done");
    await becomes("both run", async () => (await page.locator("#queue tr[data-state=running]").count()) === 2);
    for (let i = 1; i < 6; ++i) submit(`sweep-${i}0`, "--gpu", "2", "--priority", String(i % 3), "true");
    await new Promise((resume) => setTimeout(resume, 6000));
    await page.screenshot({path: `${screenshots}/service-dashboard.png`, fullPage: true});
    await page.emulateMedia({colorScheme: "dark"});
    await page.screenshot({path: `${screenshots}/service-dark.png`, fullPage: true});
    await page.setViewportSize({width: 420, height: 900});
    await page.screenshot({path: `${screenshots}/service-narrow.png`, fullPage: true});
    sinewDoes("stop", "--all", "--now");
    await becomes("all have ended", async () => (await page.locator("#queue tr").count()) === 0);
  }
}

const server = spawn(sinew, ["serve", "--address", "127.0.0.1:0", "--key", key, "--state", state, "--dashboard"],
  {stdio: ["ignore", "pipe", "pipe"]});
await run(server, check, async () => {   // jobs go on without the server
  if (server.exitCode === null && server.signalCode === null)
    sinewDoes("stop", "--all", "--now");
});
