import assert from "node:assert/strict";
import test from "node:test";
import { collectAll, Spare } from "./spare.ts";

test("what one large look leaves is collected at once, what small ones leave when it is more than a change with a small Secret leaves", () => {
  const after = agentThatLeaves();
  assert.deepEqual([after(1_900_000), after(1_000_000), after(100_000)], [0, 0, 1]);
  assert.deepEqual([after(2_000_000), after(1_900_000), after(1_000_000), after(100_000)], [2, 2, 2, 3]);
});

test("when an agent comes to rest it collects once, however little is left, and then only what is much", () => {
  const after = agentThatLeaves();
  assert.deepEqual([after(300_000, false), after(300_000, true), after(300_000, true)], [0, 1, 1]);
  // A change, and rest again: what the start left is long gone.
  assert.deepEqual([after(300_000, false), after(300_000, true), after(3_000_000, true)], [1, 1, 2]);
});

/** Collections so far, once a look has left so many bytes. */
function agentThatLeaves(): (left: number, rests?: boolean) => number {
  let used = 5_000_000;
  let collections = 0;
  const spare = new Spare(
    () => used,
    () => {
      collections += 1;
      used = 6_000_000;
    },
  );
  return (left, rests = false) => {
    used += left;
    spare.tidy(rests);
    return collections;
  };
}

test("a collection gives the heap back what nobody holds any more", () => {
  const used = () => process.memoryUsage().heapUsed;
  collectAll();
  const before = used();
  const held = Array.from({ length: 100_000 }, (_, index) => [index]);
  assert.ok(used() > before + 4_000_000, "it is held");
  assert.equal(held.length, 100_000);
  held.length = 0;
  collectAll();
  assert.ok(used() < before + 1_000_000);
});
