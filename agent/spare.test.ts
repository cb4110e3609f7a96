import assert from "node:assert/strict";
import test from "node:test";
import { collectAll, Spare } from "./spare.ts";

test("what looks leave is collected once it is more than a small Secret's agent ever leaves, then look by look, at rest as rarely as at first", () => {
  let used = 5_000_000;
  let collections = 0;
  const spare = new Spare(
    () => used,
    () => {
      collections += 1;
      used = 6_000_000;
    },
  );
  const after = (left: number, rests = false) => {
    used += left;
    spare.tidy(rests);
    return collections;
  };
  assert.deepEqual([after(2_000_000), after(900_000), after(100_000)], [0, 0, 1]);
  assert.deepEqual([after(900_000), after(100_000), after(4_000_000)], [1, 2, 3]);
  assert.deepEqual([after(2_900_000, true), after(100_000, true), after(1_000_000)], [3, 4, 5]);
});

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
