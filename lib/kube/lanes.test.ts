import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { inLanes } from "./lanes.ts";

test("law: works on each item once, in order, and never on more than the limit at a time", async () => {
  const sizes = fc.record({ count: fc.nat(60), lanes: fc.integer({ min: 1, max: 20 }) });
  await fc.assert(
    fc.asyncProperty(sizes, async ({ count, lanes }) => {
      const all = Array.from({ length: count }, (_, n) => n);
      const begun: number[] = [];
      let [now, most] = [0, 0];
      await inLanes(all, lanes, async (job) => {
        begun.push(job);
        now += 1;
        most = Math.max(most, now);
        await setImmediate();
        now -= 1;
      });
      assert.deepEqual(begun, all);
      assert.equal(most, Math.min(lanes, count));
    }),
  );
});

test("rejects with the first error, and starts nothing after it", async () => {
  let begun = 0;
  const work = async () => {
    begun += 1;
    await Promise.reject(new Error("no"));
  };
  await assert.rejects(inLanes([1, 2, 3, 4], 2, work), /no/);
  assert.equal(begun, 2);
});
