/** Random histories of one node, always with the same seeds. */
import assert from "node:assert/strict";
import test from "node:test";
import { describe, firstFailure } from "./run.ts";

for (const [name, first, isWithProvider] of [
  ["modes Restart and Reread", 1, false],
  ["all modes, and changes of the mode", 5000, true],
] as const)
  test(`H20: leaves config.json as if the product had never existed, whatever happens to the node: ${name}`, async () => {
    const failure = await firstFailure({ first, count: 40, isWithProvider });
    assert.equal(failure && describe(failure), undefined);
  });
