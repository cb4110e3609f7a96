import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";

/**
 * `only` silences every other test of the process; `todo` and `expectFailure` turn a failed test
 * green. The runner fails such a run as well (tools/build/reporter.ts), but this test names all
 * places at once.
 */
const forbidden =
  /\b(?:test|it|describe|suite|t)\.(?:only|todo|expectFailure)\b|\bonly: (?:true|")|\b(?:todo|expectFailure)(?::| [,}]|,)/;

/** These files test how the runner treats such tests. */
const excepted: ReadonlySet<string> = new Set([
  "tools/build/reporter.test.ts",
  "tools/rules/only.test.ts",
]);

test("has no test that is silenced or whose failure is excused", () => {
  const files = globSync("**/*.{test,fixture}.ts", { exclude: ["node_modules/**"] });
  assert.ok(files.length > 300, `${files.length} files`);
  const offenders = files.filter(
    (file) => !excepted.has(file) && forbidden.test(readFileSync(file, "utf8")),
  );
  assert.deepEqual(offenders, []);
});

test("finds every form in which a test can be skipped or excused", () => {
  for (const text of [
    "test.only(",
    "describe.todo(",
    "t.todo(",
    "test.expectFailure(",
    "{ only: true }",
    '{ todo: "later" }',
    "{ todo: why }",
    "{ todo }",
    "{ expectFailure: /no/ }",
  ])
    assert.match(text, forbidden);
  for (const text of ["if only one", "todo list", "{ only: ours }", "what to do: nothing"])
    assert.doesNotMatch(text, forbidden);
});
