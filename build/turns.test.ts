import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { test } from "node:test";
import { inTurn, isRunWhole, rounds, turns } from "./turns.ts";

const files = globSync("test/**/*.test.ts").filter((file) => !file.endsWith(".long.test.ts"));

test("every file that takes turns is there, once", () => {
  assert.equal(new Set(turns).size, turns.length);
  for (const file of turns) assert.ok(files.includes(file), file);
});

for (const first of [800_001, -800_001])
  test(`eight runs from SEED=${first} on take every file: once each what takes turns, and all else every time`, () => {
    const runs = Array.from({ length: rounds }, (_, seed) => inTurn(files, first + seed));
    for (const file of files) {
      const times = runs.filter((run) => run.includes(file)).length;
      assert.equal(times, turns.includes(file) ? 1 : rounds, file);
    }
  });

test("a file that takes turns is run whole beside them: by its long file, or by test:faults", () => {
  assert.ok(isRunWhole("test/e2e/staged.test.ts"));
  assert.ok(isRunWhole("test/faults/job.test.ts"));
  // It has a long file, with other tests.
  assert.ok(!isRunWhole("test/e2e/apitrouble.test.ts"));
  assert.ok(!isRunWhole("test/e2e/provider.test.ts"));
});
