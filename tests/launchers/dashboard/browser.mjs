// SPDX-License-Identifier: Apache-2.0
// What the tests of pages in a browser share: Chromium, a process with a dashboard, and what no page may do.
import {createRequire} from "node:module";
import {strict as assert} from "node:assert";

const {chromium} = createRequire(process.env.SINEW_TEST_NODE_MODULES + "/")("playwright-core");
const limit = 30000;

// What the pages have written to their consoles, and whom they have asked besides their own servers.
export const errors = [];
export const strangers = new Set();

export function watch(page, server) {
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(server)) strangers.add(request.url());
  });
}

// The address that a process with a dashboard prints once.
export function addressOf(started) {
  return new Promise((resolve, reject) => {
    let words = "";
    started.stderr.on("data", (bytes) => {
      words += bytes;
      const found = words.match(/dashboard: (http:\/\/127\.0\.0\.1:\d+\/)(#token=[0-9a-f]{64})\n/);
      if (found) resolve({server: found[1], fragment: found[2]});
    });
    started.on("exit", (code) => reject(new Error(`it has ended with ${code}: ${words}`)));
  });
}

export const text = (page, selector) => page.locator(selector).first().textContent();

export async function becomes(what, holds) {
  for (const begin = Date.now(); Date.now() - begin < limit;) {
    if (await holds()) return;
    await new Promise((resume) => setTimeout(resume, 50));
  }
  assert.fail(`${what}: not within ${limit} ms`);
}

export async function end(started) {
  if (started.exitCode !== null || started.signalCode !== null) return;
  started.removeAllListeners("exit");
  const ended = new Promise((resolve) => started.on("exit", resolve));
  started.kill("SIGTERM");
  await ended;
}

// Checks the page of this process in Chromium, ends both, and exits. `cleanUp` is called before the process ends.
export async function run(started, check, cleanUp = () => {}) {
  let browser;
  let code = 0;
  try {
    browser = await chromium.launch({
      executablePath: process.env.SINEW_TEST_CHROMIUM,
      args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],   // as root, in containers
    });
    await check(browser, started);
    assert.deepEqual(errors, [], "messages of the console");
    assert.deepEqual([...strangers], [], "requests to others");
  } catch (problem) {
    console.error(problem);
    code = 1;
  } finally {
    await browser?.close();
    await cleanUp();
    await end(started);
  }
  process.exit(code);
}
