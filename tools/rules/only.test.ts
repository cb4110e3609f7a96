import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";

/** `only` silences every other test of the process, and `todo` makes a red test green. */
const forbidden = /\b(?:test|it|describe)\.(?:only|todo)\b|\b(?:only|todo): (?:true|")/;

test("no test silences others or is excused", () => {
  const files = globSync("**/*.{test,fixture}.ts", { exclude: ["node_modules/**"] });
  assert.ok(files.length > 300, `${files.length} files`);
  const found = files.filter(
    (file) => !file.endsWith("only.test.ts") && forbidden.test(readFileSync(file, "utf8")),
  );
  assert.deepEqual(found, []);
});

test("finds each way to silence or to excuse a test", () => {
  for (const text of ["test.only(", "describe.todo(", "{ only: true }", '{ todo: "later" }'])
    assert.match(text, forbidden);
  for (const text of ["if only one", "todo list", "{ only: ours }"])
    assert.doesNotMatch(text, forbidden);
});
