// SPDX-License-Identifier: Apache-2.0
// The page of a job in a real browser: that it is complete, moves, shows a rank that was killed, and
// asks nobody but its own server. node browser_test.mjs SINEW PROGRAM [SCREENSHOT_FOLDER]
import {spawn} from "node:child_process";
import {strict as assert} from "node:assert";
import {addressOf, becomes, end, run, text, watch} from "./browser.mjs";

const [sinew, program, screenshots] = process.argv.slice(2);

async function check(browser, job) {
  const {server, fragment} = await addressOf(job);
  const context = await browser.newContext({viewport: {width: 1320, height: 1080}, colorScheme: "light"});
  const page = await context.newPage();
  watch(page, server);
  await page.goto(server + fragment);

  // What must be there, and that the token does not stay in the address bar.
  await becomes("the page is live", async () => (await text(page, "#connection")) === "Live");
  assert.equal(page.url(), server);
  for (const title of ["Ranks", "Throughput", "Pools", "Events", "Log"])
    assert.equal(await page.getByRole("heading", {name: title, exact: true}).count(), 1, title);
  await becomes("all ranks run", async () =>
    (await page.locator("#rank-table tbody tr[data-state=running]").count()) === 6);
  assert.equal(await page.locator("#ring path[data-rank]").count(), 6);
  assert.match(await text(page, "#job-command"), /dashboard_program/);
  assert.equal(await page.locator("#queue-card").isVisible(), false, "there is no queue");

  // Live: the log grows, and the pool goes on.
  const lines = () => page.locator("#log .stdout").count();
  const before = await lines();
  await becomes("the log grows", async () => (await lines()) > before);
  assert.match(await text(page, "#log .who"), /^\[\d\] $/);
  const done = async () => Number((await text(page, ".pool dd[data-key=done]")).replaceAll(",", ""));
  await becomes("a pool is there", async () => (await page.locator(".pool").count()) === 1);
  const first = await done();
  await becomes("the pool goes on", async () => (await done()) > first + 100);
  await becomes("the rate is shown", async () => Number((await text(page, "#rate")).replaceAll(",", "")) > 10);
  await becomes("a lost worker is blamed", async () =>
    /killed by signal 9.*simulate.*#\d+ \(executed again\)/.test(await text(page, ".blame li") ?? ""));

  // By keyboard: the arrows walk along the ring, Enter filters the log.
  await page.locator("#ring path[data-rank='0']").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("#log-rank").inputValue(), "1");
  assert.equal(await page.locator("#log .stdout .who", {hasText: "[2]"}).count(), 0);
  await page.locator("#log-rank").fill("");
  if (screenshots) await new Promise((resume) => setTimeout(resume, 25000));   // a curve to look at

  // A rank that was killed: in red, and in words.
  const row = page.locator("#rank-table tr[data-rank='4']");
  process.kill(Number(await row.locator("td").nth(3).textContent()), "SIGKILL");
  await becomes("the killed rank is shown", async () => (await row.getAttribute("data-state")) === "failed");
  assert.match(await row.textContent(), /✕ failed.*killed by signal 9 \(Killed\)/);
  const color = await row.locator(".state-cell").evaluate((cell) => getComputedStyle(cell).color);
  const [red, green, blue] = color.match(/\d+/g)?.map(Number) ?? [];
  assert.ok(red > 150 && red > 2 * green && red > 2 * blue, `${color} is red`);
  assert.equal(await page.locator("#ring path.failed[data-rank='4']").count(), 1);
  assert.match(await text(page, "#events li[data-level=error]"), /Rank 4 .* was lost: killed by signal 9/);
  assert.equal(await page.locator("#rank-table tbody tr[data-state=running]").count(), 5, "the others go on");

  // The job goes on, which the header says in the colour of that, with the cause beside it.
  assert.equal(await text(page, "#job-state"), "running");
  await becomes("the cause is shown", async () => /rank 4 /.test(await text(page, "#cause")));
  const colorOf = (selector) => page.locator(selector).first().evaluate((item) => getComputedStyle(item).color);
  assert.equal(await colorOf("#job-state"), await colorOf("#rank-table tr[data-state=running] .state-cell"));

  if (screenshots) {
    await page.locator("#log-rank").blur();
    await new Promise((resume) => setTimeout(resume, 1500));
    await page.screenshot({path: `${screenshots}/dashboard.png`, fullPage: true, clip: {x: 0, y: 0, width: 1320, height: 1420}});
    await page.emulateMedia({colorScheme: "dark"});
    await page.screenshot({path: `${screenshots}/dashboard-dark.png`, fullPage: true});
    await page.setViewportSize({width: 420, height: 900});
    await page.screenshot({path: `${screenshots}/dashboard-narrow.png`, fullPage: true});
  }

  // A reload finds the token again; who has none sees nothing of the job.
  await page.reload();
  await becomes("the page is live again", async () => (await text(page, "#connection")) === "Live");
  const other = await (await browser.newContext()).newPage();
  await other.goto(server);
  await becomes("no token, no state", async () => (await text(other, "#connection")).startsWith("Not authorised"));
  assert.equal(await other.locator("#rank-table tbody tr").count(), 0);
  await other.close();

  // The end of the job is the last thing shown.
  await end(job);
  await becomes("the end is shown", async () => (await text(page, "#connection")).startsWith("Ended"));
  assert.equal(await text(page, "#job-state"), "ended");
}

const job = spawn(sinew, ["run", "-n", "6", "--fake-nodes", "3,3", "--no-kill", "--grace", "2s", "--dashboard", program, "120"],
  {stdio: ["ignore", "ignore", "pipe"]});
await run(job, check);
