import assert from "node:assert/strict";
import test from "node:test";
import { collectAll, Spare } from "./spare.ts";

test("what one large look leaves is collected at once, what small ones leave when it is more than a change with a small Secret leaves", () => {
  const agent = new PlayedHeap();
  const after = (...left: number[]) => left.map((bytes) => agent.looks(bytes));
  assert.deepEqual(after(1_900_000, 1_000_000, 100_000), [0, 0, 1]);
  assert.deepEqual(after(2_000_000, 1_900_000, 1_000_000, 100_000), [2, 2, 2, 3]);
});

test("when an agent comes to rest it collects once, however little is left, and then only what is much", () => {
  const agent = new PlayedHeap();
  assert.equal(agent.looks(300_000), 0);
  agent.spare.settle();
  agent.spare.settle();
  assert.equal(agent.collections, 1);
  // What was there before it rested is gone, and is not counted again.
  assert.deepEqual([agent.looks(1_900_000), agent.looks(1_000_000), agent.looks(100_000)], [1, 1, 2]);
});

/** A heap of which 6 MB are held. */
class PlayedHeap {
  #used = 5_000_000;
  collections = 0;
  readonly spare = new Spare(
    () => this.#used,
    () => {
      this.collections += 1;
      this.#used = 6_000_000;
    },
  );

  /** Collections so far, once a look has left so many bytes. */
  looks(left: number): number {
    this.#used += left;
    this.spare.tidy();
    return this.collections;
  }
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
