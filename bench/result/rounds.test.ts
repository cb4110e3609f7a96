import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { interleave, spread } from "./rounds.ts";

test("takes the middle value as the median, or the mean of the middle two", () => {
  assert.deepEqual(spread([3, 1, 2]), { median: 2, least: 1, most: 3, rounds: 3 });
  assert.deepEqual(spread([4, 1, 3, 2]), { median: 2.5, least: 1, most: 4, rounds: 4 });
  assert.deepEqual(spread([7]), { median: 7, least: 7, most: 7, rounds: 1 });
});

test("leaves as many values below the median as above it", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -1000, max: 1000 }), { minLength: 1 }), (values) => {
      const { median, least, most } = spread(values);
      const [below, above] = [
        values.filter((value) => value < median),
        values.filter((value) => value > median),
      ];
      assert.ok(below.length <= values.length / 2 && above.length <= values.length / 2);
      assert.ok(least <= median && median <= most);
    }),
  );
});

test("refuses a median without values", () => {
  assert.throws(() => spread([]), /needs at least one value/);
});

test("runs both sides in turn", async () => {
  const order: string[] = [];
  const side = (name: string) => async (round: number) => {
    order.push(`${name}${round}`);
    return name;
  };
  assert.deepEqual(await interleave(2, side("a"), side("b")), [
    ["a", "b"],
    ["a", "b"],
  ]);
  assert.deepEqual(order, ["a0", "b0", "a1", "b1"]);
});
