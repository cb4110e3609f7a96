import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporary } from "#test/temporary.ts";
import { checkComments, checkLengths } from "./comments.ts";

test("names a comment wider than 100 columns with its line, but not code or strings", (t) => {
  const root = temporary(t);
  const wide = "x".repeat(100);
  const lines = [`// ${wide}`, ` * ${wide}`, `const a = "${wide}";`, `f("http://${wide}");`];
  writeFileSync(join(root, "a.ts"), lines.join("\n"));
  assert.deepEqual(checkComments(root), ["a.ts:1: 103 columns", "a.ts:2: 103 columns"]);
});

test("names a code file with more than 450 lines, but not a test", (t) => {
  const root = temporary(t);
  mkdirSync(join(root, "agent"));
  for (const [name, lines] of Object.entries({ "a.ts": 450, "b.ts": 451, "b.test.ts": 451 }))
    writeFileSync(join(root, "agent", name), "x;\n".repeat(lines));
  assert.deepEqual(checkLengths(root), ["agent/b.ts: 451 lines"]);
});
