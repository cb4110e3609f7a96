import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporary } from "#test/temporary.ts";
import { checkComments } from "./comments.ts";

test("names a comment wider than 100 columns with its line, but not code or strings", (t) => {
  const root = temporary(t);
  const wide = "x".repeat(100);
  const lines = [`// ${wide}`, ` * ${wide}`, `const a = "${wide}";`, `f("http://${wide}");`];
  writeFileSync(join(root, "a.ts"), lines.join("\n"));
  assert.deepEqual(checkComments(root), ["a.ts:1: 103 columns", "a.ts:2: 103 columns"]);
});
