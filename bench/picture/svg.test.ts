import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { linear, ticks } from "./svg.ts";

test("maps both ends and the middle of a scale to their positions, even if the scale is reversed", () => {
  const y = linear([0, 10], [300, 100]);
  assert.deepEqual([0, 5, 10].map(y), [300, 200, 100]);
});

test("chooses round ticks from 0 that reach the largest value", () => {
  assert.deepEqual(ticks(10), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(ticks(0.3), [0, 0.1, 0.2, 0.3]);
  fc.assert(
    fc.property(fc.double({ min: 1e-6, max: 1e9, noNaN: true }), (most) => {
      const marks = ticks(most);
      assert.equal(marks[0], 0);
      assert.ok((marks.at(-1) ?? 0) >= most * 0.998, `${marks} for ${most}`);
      assert.ok(marks.length >= 3 && marks.length <= 8, `${marks} for ${most}`);
    }),
  );
});
