/** Many random histories of one node. SEED repeats a run. */
import assert from "node:assert/strict";
import test from "node:test";
import { seeded } from "#test/random.ts";
import { describe, firstFailure } from "./run.ts";

for (const isWithProvider of [false, true])
  test(`leaves config.json as if the product had never existed, in 1,000 histories ${isWithProvider ? "with" : "without"} the provider`, async (t) => {
    const first = seeded(t).below(1_000_000);
    const failure = await firstFailure({ first, count: 1000, isWithProvider });
    assert.equal(failure && describe(failure), undefined);
  });
