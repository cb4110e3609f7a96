import assert from "node:assert/strict";
import { test } from "node:test";
import { compare, isMet, measure, verdict } from "./result.ts";

const about = { name: "speed", unit: "s", against: "a bare restart" };

test("takes the median of the rounds' ratios, not the ratio of medians, because a slow round is slow on both sides", () => {
  const result = compare(about, [
    [11, 10],
    [110, 100],
    [2, 1],
  ]);
  assert.equal(result.ratio, 1.1);
  assert.deepEqual(result.range, [1.1, 2]);
  assert.deepEqual([result.value, result.baseline, result.rounds], [11, 10, 3]);
});

test("counts a goal as met up to and including its limit, and reports neither met nor missed without a goal", () => {
  assert.equal(isMet(compare({ ...about, atMost: 1.2 }, [[12, 10]])), true);
  assert.equal(isMet(compare({ ...about, atMost: 1.2 }, [[13, 10]])), false);
  assert.equal(isMet(compare(about, [[13, 10]])), undefined);
  assert.equal(isMet(measure({ name: "calls", unit: "calls", atMost: 0 }, [0])), true);
  assert.equal(isMet(measure({ name: "calls", unit: "calls", atMost: 0 }, [1])), false);
  assert.equal(isMet(measure({ name: "calls", unit: "calls" }, [1])), undefined);
});

test("exits with 1 after a missed goal or a failed measurement", () => {
  const met = measure({ name: "calls", unit: "calls", atMost: 0 }, [0]);
  const missed = measure({ name: "seconds", unit: "s", atMost: 1 }, [2]);
  const free = measure({ name: "size", unit: "KiB" }, [2]);
  assert.deepEqual(verdict([met, free], 0), { code: 0, missed: "" });
  assert.deepEqual(verdict([met, missed, free], 0), { code: 1, missed: "goals missed: seconds\n" });
  assert.deepEqual(verdict([met], 1), { code: 1, missed: "" });
});
