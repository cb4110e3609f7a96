/**
 * The only file that Node's test runner gets: it loads the test files. Given several files, Node
 * ignores an error in a file's body if the file has already registered a test (24.21, with
 * `--test-isolation=none`), and silently omits its later tests.
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
 * The run that started this process has ended for whatever reason: end with everything that was
 * started.
 */
new Socket({ fd: lifeline }).on("end", () => process.kill(-process.pid, "SIGTERM")).unref();

/** Timers that keep the process alive. */
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
  // The file's tests are registered by then, and Node reports them in the order of registration.
  const loaded = load(file);
  await loaded.catch(() => {});
  void test(markOf(file), () => loaded);
}

/**
 * Milliseconds that the last test waits for the leftovers of other tests, such as a rejection, or a
 * timer that registers a test.
 */
const patience = 1000;

void test(lastMark, async () => {
  const begun = performance.now();
  do await nextTurn();
  while (timers() > 0 && performance.now() - begun < patience);
});
