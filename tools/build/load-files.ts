/**
 * The only file that Node's test runner gets. It loads the test files. If the runner itself gets
 * several files, it ignores an error in a file's body after the file's first test, and silently
 * omits the file's later tests (Node 24.21 with `--test-isolation=none`).
 */
import { Socket } from "node:net";
import { resolve } from "node:path";
import { test } from "node:test";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { filesVariable, lastMark, lifeline, loadBoundVariable, markOf } from "./marks.ts";

const files = JSON.parse(process.env[filesVariable] ?? "[]") as readonly string[];
const bound = Number(process.env[loadBoundVariable]);
delete process.env[filesVariable];
delete process.env[loadBoundVariable];

/**
 * When the runner's process ends, for whatever reason, this process ends too, with all processes
 * that it started.
 */
new Socket({ fd: lifeline }).on("end", () => process.kill(-process.pid, "SIGTERM")).unref();

/** The number of timers that keep this process alive. */
const timers = (): number =>
  process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

async function load(file: string): Promise<void> {
  const ended = new AbortController();
  const { signal } = ended;
  const tooLong = sleep(bound, true, { signal }).catch(() => false);
  const loading = import(pathToFileURL(resolve(file)).href);
  try {
    const isLate = (await Promise.race([loading, tooLong])) === true;
    if (isLate) throw new Error(`does not load within ${bound / 1000} s`);
  } finally {
    ended.abort();
  }
}

for (const file of files) {
  // Registers the mark after the file's tests, because Node reports tests in the order of
  // registration.
  const loaded = load(file);
  await loaded.catch(() => {});
  void test(markOf(file), () => loaded);
}

/**
 * Milliseconds that the last test waits for effects of other tests, such as a rejected promise or a
 * timer that registers a test.
 */
const patience = 1000;

void test(lastMark, async () => {
  const begun = performance.now();
  do await nextTurn();
  while (timers() > 0 && performance.now() - begun < patience);
});
