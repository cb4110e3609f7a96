/** Many random histories of one node. SEED repeats a run. */
import assert from "node:assert/strict";
import test from "node:test";
import { describe, runHistories } from "./run.ts";

const seed = Number(process.env["SEED"]) * 10_000;

for (const isWithProvider of [false, true])
  test(`leaves config.json as if the product had never existed, in 5,000 histories ${isWithProvider ? "with" : "without"} the provider`, () => {
    for (let done = 0; done < 5000; done += 500) {
      const [failure] = runHistories(seed + done, 500, isWithProvider);
      assert.equal(failure && describe(failure), undefined);
    }
  });
