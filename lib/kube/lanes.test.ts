import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { Gate, inLanes } from "./lanes.ts";

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
  for (const failing of [1, 2, 3]) {
    const begun: number[] = [];
    const work = async (job: number) => {
      begun.push(job);
      await setImmediate();
      // The others end later, when a lane could begin the next job.
      if (job === failing) throw new Error(`no ${job}`);
      await setImmediate();
    };
    await assert.rejects(inLanes([1, 2, 3, 4, 5, 6], 3, work), new Error(`no ${failing}`));
    for (let turn = 0; turn < 10; turn += 1) await setImmediate();
    assert.deepEqual(begun, [1, 2, 3]);
  }
});

test("begins no job without items", async () => {
  await inLanes([], 3, () => assert.fail());
});

test("law: a gate lets each job through once, in order, and never more than the limit, even if jobs fail", async () => {
  const jobs = fc.array(fc.boolean(), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(jobs, fc.integer({ min: 1, max: 5 }), async (failing, limit) => {
      const gate = new Gate(limit);
      const begun: number[] = [];
      let [now, most] = [0, 0];
      const work = (fails: boolean, job: number) => async () => {
        begun.push(job);
        now += 1;
        most = Math.max(most, now);
        await setImmediate();
        now -= 1;
        assert.ok(!fails);
      };
      await Promise.allSettled(failing.map((fails, job) => gate.run(work(fails, job))));
      assert.deepEqual([begun, most], [[...failing.keys()], Math.min(limit, failing.length)]);
    }),
  );
});
