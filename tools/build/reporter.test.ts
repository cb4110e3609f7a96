import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { temporary } from "#test/temporary.ts";
import { promises } from "#tools/pages/promises.ts";
import { missingIn, runVariable, type Run, summaryOf } from "./reporter.ts";

const head = 'import { describe, test } from "node:test"; test("first", () => {});';

/** Mistake → a file with it, and the reason that the reporter prints. */
const mistakes: Readonly<Record<string, readonly [source: string, reason: RegExp]>> = {
  "a test that fails": [`${head} test("a", () => { throw new Error("no"); });`, /Error: no\n/],
  "a body that throws after a test": [`${head} throw new Error("boom");`, /Error: boom\n/],
  "a top-level await that never ends": [`${head} await new Promise(() => {});`, /unsettled/],
  "a missing module": [`${head} await import("./absent.mjs");`, /absent\.mjs/],
  "no test": ["", /the file has no test/],
  "a test that ends the process": [
    `${head} test("a", () => process.exit(0)); test("b", () => {});`,
    /the file has no test, or a test ended the process/,
  ],
  "a test that ends the process after results": [
    `${head} test("a", async () => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      process.exit(0);
    });`,
    /ended/,
  ],
  "a test that takes too long": [
    `${head} test("hangs", () => new Promise((resolve) => setTimeout(resolve, 3000)));`,
    /: hangs\n.*timed out/,
  ],
  "code that throws after its test": [
    `${head} test("a", () => void setTimeout(() => { throw new Error("after"); }, 50));`,
    /Error: after/,
  ],
  "a todo": [`${head} test("a", { todo: "why" }, () => {});`, /marked as todo/],
  "a todo that fails": [
    `${head} test("a", (t) => { t.todo(); throw new Error("no"); });`,
    /marked as todo/,
  ],
  "an excused failure": [
    `${head} test("a", { expectFailure: true }, () => { throw new Error("no"); });`,
    /marked with expectFailure/,
  ],
};

/** Runs files with these texts as test.ts does. Returns the output and the exit code. */
function play(
  sources: Readonly<Record<string, string>>,
  t: test.TestContext,
  limits: Partial<Run> = {},
) {
  const folder = temporary(t);
  const files = Object.entries(sources).map(([name, source]) => {
    const file = join(folder, `${name.replaceAll(" ", "-")}.mjs`);
    writeFileSync(file, source);
    return relative("", file);
  });
  const run: Run = { tier: "test", files, whole: false, bound: 60_000, silence: 60_000, ...limits };
  const reporter = join(import.meta.dirname, "reporter.ts");
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ["--test", "--test-timeout=1500", `--test-reporter=${reporter}`, ...files],
    { env: { ...env, [runVariable]: JSON.stringify(run) }, encoding: "utf8" },
  );
  assert.equal(stderr, "");
  return { stdout, status };
}

test("names each file with a mistake and the reason, and passes the tests of the other files", (t) => {
  const sources = Object.entries(mistakes).map(([name, [source]]) => [name, source]);
  const { stdout, status } = play({ good: head, ...Object.fromEntries(sources) }, t);
  assert.equal(status, 1);
  const parts = stdout.split(/^FAILED:? /m);
  for (const [name, [, reason]] of Object.entries(mistakes)) {
    const file = `${name.replaceAll(" ", "-")}.mjs`;
    const part = parts.filter((text) => text.split("\n")[0]?.includes(`/${file}`)).join("\n");
    assert.match(part, reason, `${name}:\n${stdout}`);
  }
  assert.ok(!parts.some((text) => text.split("\n")[0]?.includes("good.mjs")), stdout);
  assert.match(stdout, /^\d+ passed, \d+ failed\n$/m);
});

for (const [what, body, named] of [
  // A process in a loop cannot report which test it runs.
  // The loop ends, so that it does not run for ever if this test itself is ended.
  [
    "the file of a test that hangs in a loop",
    "() => { const end = Date.now() + 60_000; while (Date.now() < end); }",
    "",
  ],
  [
    "a test that leaves a timer behind",
    "() => new Promise(() => setInterval(() => {}, 1000))",
    "  stays\n",
  ],
] as const)
  test(`ends the run and names ${what}`, (t) => {
    const { stdout, status } = play({ bad: `${head} test("stays", ${body});` }, t, {
      silence: 4000,
    });
    assert.match(stdout, new RegExp(`(?:^|\n)FAILED: a test hangs: \\S*bad\\.mjs\n${named}$`));
    assert.equal(status, 1);
  });

test("lists skipped tests by reason, and ends with the counts", (t) => {
  const skips = 'describe("a", { skip: "why" }, () => {}); test("b", { skip: "why" }, () => {});';
  const { stdout, status } = play({ good: `${head} ${skips}` }, t);
  const lines = stdout.split("\n");
  assert.deepEqual(lines.slice(0, 3), ["skipped, why:", "  a", "  b"]);
  assert.match(lines[3] ?? "", /^npm test: 2 skipped, \d+ s$/);
  assert.deepEqual(lines.slice(4), ["1 passed, 0 failed", ""]);
  assert.equal(status, 0);
});

test("fails a run in which every test was skipped", (t) => {
  const { stdout, status } = play(
    { skips: head.replace('"first",', '"first", { skip: true },') },
    t,
  );
  assert.match(stdout, /^FAILED: no test passed$/m);
  assert.equal(status, 1);
});

const of = (name: string, file = "a.test.ts") => ({ name, file });
const none = { passed: [], skipped: [], failures: [] };

test("prints at most 40 lines when many tests are skipped", () => {
  const skipped = Array.from({ length: 500 }, (_, index) => ({
    ...of(`t${index}`),
    note: `r${index % 4}`,
  }));
  const text = summaryOf({ ...none, skipped }, { tier: "test", whole: true, seconds: 1 });
  assert.ok(text.split("\n").length <= 40, text);
  assert.match(text, /^promises shown here: H 0 of \d+, K 0 of \d+, L 0 of \d+, M 0 of \d+$/m);
});

test("reports a promise of the core that no passed test of test:cluster shows", () => {
  const core = Object.keys(promises).filter((key) => key.startsWith("H") && key !== "H25");
  const all = core.map((number) => of(`${number}: a`));
  assert.deepEqual(missingIn({ ...none, passed: all }, "cluster", []), []);
  const [number = "", ...others] = core;
  const passed = others.map((other) => of(`${other}: a`));
  const skipped = [{ ...of(`${number}: a`), note: "no cluster" }];
  assert.deepEqual(missingIn({ ...none, passed, skipped }, "cluster", []), [number]);
});

test("reports each promise of npm test that no passed test shows, except in files that skip a test", () => {
  const tests = [
    { file: "a.test.ts", name: "H1, L2: a", tier: "test" },
    { file: "b.test.ts", name: "H1: b", tier: "test" },
    { file: "a.test.ts", name: "H3: a", tier: "cluster" },
  ] as const;
  assert.deepEqual(missingIn({ ...none, passed: [of("H1, L2: a")] }, "test", tests), []);
  const passed = [of("H1: b", "b.test.ts")];
  assert.deepEqual(missingIn({ ...none, passed }, "test", tests), ["L2 (a.test.ts)"]);
  const skipped = [{ ...of("one agent"), note: "no Linux" }];
  assert.deepEqual(missingIn({ ...none, skipped }, "test", tests), []);
  assert.deepEqual(missingIn(none, "all", tests), []);
});
