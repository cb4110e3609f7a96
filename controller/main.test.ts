import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";

test("exits with code 2 and one line about a flag that it cannot use", () => {
  const program = join(import.meta.dirname, "main.ts");
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, "--absent=1"], {
    encoding: "utf8",
    timeout: 50_000,
  });
  assert.deepEqual([status, stdout], [2, ""]);
  assert.match(stderr, /^[^\n]*--absent[^\n]*\n$/);
});
