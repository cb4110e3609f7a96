/** Which tests can run a file, in a checkout of a few files. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { temporary } from "../temporary.ts";
import { testsBy } from "./importers.ts";

const files = {
  "agent/0.test.ts": 'import { b } from "./b.ts";',
  "agent/a.ts": "",
  "agent/b.ts": 'import { a } from "#agent/a.ts";',
  "agent/b.test.ts": 'import { b } from "./b.ts";',
  "agent/b.slow.test.ts": 'import { b } from "./b.ts";',
  "agent/a.test.ts": 'import { a } from "./a.ts";',
  "agent/1.test.ts": 'import { a } from "./a.ts";',
  "agent/types.test.ts": 'import type { A } from "./a.ts";',
  "fleet/c.test.ts": 'import { b } from "#agent/b.ts";',
  "agent/z.test.ts": 'import { b } from "#fleet/c.test.ts";',
  "lib/program.test.ts": 'spawn("node", ["agent/b.ts"]);',
  "tools/a.test.ts": 'import { a } from "#agent/a.ts";',
  "test/story/a.test.ts": 'import { a } from "#agent/a.ts";',
};

test("lists the tests that run a file, also as a program: the nearest first, long ones last", (t) => {
  const root = temporary(t);
  for (const [file, source] of Object.entries(files)) {
    mkdirSync(join(root, dirname(file)), { recursive: true });
    writeFileSync(join(root, file), source);
  }
  assert.deepEqual(testsBy(root)("agent/a.ts"), [
    "agent/a.test.ts",
    "agent/1.test.ts",
    "agent/b.test.ts",
    "agent/0.test.ts",
    "agent/z.test.ts",
    "fleet/c.test.ts",
    "lib/program.test.ts",
    "test/story/a.test.ts",
    "tools/a.test.ts",
  ]);
});
