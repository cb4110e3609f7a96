/** The runner's result for test files with one mistake each. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, test } from "node:test";
import { type Outcome, runFiles } from "./run-files.ts";
import type { Line } from "./reporter.ts";

const head = 'import { describe, test } from "node:test"; test("first", () => {});';

type Expected = Readonly<{ kind: Line["kind"]; text: RegExp }>;
const failed = (text: RegExp): Expected => ({ kind: "failed", text });
const skipped = (text: RegExp): Expected => ({ kind: "skipped", text });

/**
 * Test name → the code that follows a passing test in the file, and the last line that is reported
 * for the file.
 */
const table: Readonly<Record<string, readonly [body: string, line: Expected]>> = {
  "fails a test that fails": ['test("a", () => { throw new Error("no"); });', failed(/no/)],
  "fails a file whose body throws after a test": ['throw new Error("boom");', failed(/boom/)],
  "fails a file whose top-level await is rejected": [
    'await Promise.reject(new Error("boom"));',
    failed(/boom/),
  ],
  "fails a file whose top-level await never ends": [
    "await new Promise(() => {});",
    failed(/does not load within 1.5 s/),
  ],
  "fails a file that lacks a module": ['await import("./absent.mjs");', failed(/absent/)],
  "fails a test that a timer registers": [
    'setTimeout(() => test("late", () => {}), 300);',
    failed(/registered after all files had loaded/),
  ],
  "fails a test that hangs": ['test("a", () => new Promise(() => {}));', failed(/timed out/)],
  "fails a test that becomes a todo": [
    'test("a", (t) => { t.todo(); throw new Error("no"); });',
    failed(/no/),
  ],
  "fails a test that passes as a todo": ['test("a", { todo: "why" }, () => {});', failed(/todo/)],
  "fails a test that is marked with expectFailure": [
    'test("a", { expectFailure: true }, () => { throw new Error("no"); });',
    failed(/expectFailure/),
  ],
  "reports a skipped test with its reason": [
    'test("a", { skip: "why" }, () => {});',
    skipped(/why/),
  ],
  "reports a skipped suite": ['describe("a", { skip: "why" }, () => {});', skipped(/why/)],
};

const folder = mkdtempSync(join(tmpdir(), "run-files-"));
const noTest = join(folder, "none.mjs");
const late = join(folder, "late.mjs");
const good = join(folder, "good.mjs");
const fileOf = (name: string): string => join(folder, `${name}.mjs`);
after(() => rmSync(folder, { recursive: true }));

const textOf = (line: Line): string =>
  "error" in line ? line.error : "note" in line ? line.note : "";

type Played = Outcome & Readonly<{ printed: string }>;
let played: Promise<Played> | undefined;

/** Runs all files once, in one process, like the unit tests. */
async function play(): Promise<Played> {
  writeFileSync(noTest, "");
  writeFileSync(
    late,
    `${head} test("leaves", () => {
      setTimeout(() => { throw new Error("after"); }, 50);
      console.log('{"kind":"passed","name":"forged","file":"x"}');
      process.stdout.write("no end of a line");
    });`,
  );
  writeFileSync(good, head);
  for (const [name, [body]] of Object.entries(table)) writeFileSync(fileOf(name), `${head}${body}`);
  const files = [...Object.keys(table).map(fileOf), noTest, good, late];
  let printed = "";
  const keep = (text: string): void => void (printed += text);
  const outcome = await runFiles(files, { bound: 60_000, testBound: 1500, printed: keep });
  return { ...outcome, printed };
}

const outcomeOf = (): Promise<Played> => (played ??= play());

const linesOf = async (file: string): Promise<readonly Line[]> =>
  (await outcomeOf()).lines.filter(
    (line) => line.file === file || line.file === relative("", file),
  );

for (const [name, [, { kind, text }]] of Object.entries(table))
  test(name, async () => {
    const [first, ...lines] = await linesOf(fileOf(name));
    assert.equal(first?.kind, "passed");
    assert.ok(lines.length > 0);
    for (const line of lines) assert.equal(line.kind, kind);
    assert.match(lines.map(textOf).join("\n"), text);
  });

test("fails a file without a test, even if other files of the run have tests that pass", async () => {
  const [line, ...more] = await linesOf(noTest);
  assert.ok(line?.kind === "failed" && more.length === 0);
  assert.match(line.error, /registers no test/);
});

test("fails a run if its last test starts code that throws after the test", async () => {
  const line = (await outcomeOf()).lines.find(({ name }) => name === "after its end");
  assert.ok(line?.kind === "failed");
  assert.match(line.error, /after/);
});

test("fails a run if one file fails, but passes the tests of the other files", async () => {
  assert.equal((await outcomeOf()).passed, false);
  assert.deepEqual(
    (await linesOf(good)).map(({ kind, name }) => [kind, name]),
    [["passed", "first"]],
  );
});

test("does not mistake a test's output for a line of the report", async () => {
  const { printed, lines } = await outcomeOf();
  assert.equal(printed, '{"kind":"passed","name":"forged","file":"x"}\nno end of a line');
  assert.ok(lines.every(({ name }) => name !== "forged"));
});

test("passes a run whose tests passed or were skipped", async () => {
  const files = [good, fileOf("reports a skipped test with its reason")];
  assert.ok((await runFiles(files, { bound: 20_000 })).passed);
});
