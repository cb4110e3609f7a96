/**
 * A fake node: contents and withdrawals are granted and taken back as they like, flags change, the
 * kubelet dies, hangs, falls silent or is restarted by others, the agent is killed, the disk is
 * full, somebody spoils config.json. Whatever came, a withdrawal leaves the node as it was, and its
 * kubelet running.
 */
import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { before, fates, fileOf, words, World } from "./node.fixture.ts";

const entries = fc.dictionary(fc.constantFrom("a.io", "b.io"), fc.constantFrom(...words), {
  minKeys: 1,
});
const event: fc.Arbitrary<(world: World) => void> = fc.oneof(
  { weight: 4, arbitrary: entries.map((one) => (world: World) => world.publish(one, "apply")) },
  { weight: 2, arbitrary: fc.constant((world: World) => world.takeBack()) },
  { weight: 2, arbitrary: fc.constant((world: World) => world.give()) },
  { weight: 2, arbitrary: fc.constant((world: World) => world.publish({}, "release")) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom("Always", "Never")
      .map((restart) => (world: World) => void (world.restart = restart)),
  },
  {
    weight: 6,
    arbitrary: fc.constantFrom(...fates).map((fate) => (world: World) => void (world.fate = fate)),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(...fates).map((fate) => (world: World) => world.start(fate)),
  },
  fc.boolean().map((full) => (world: World) => void (world.full = full)),
  fc.boolean().map((refused) => (world: World) => void (world.refused = refused)),
  fc.constant((world: World) => world.kill()),
  { weight: 2, arbitrary: fc.constant((world: World) => void world.step(true)) },
  // Another program brings its own copy back.
  fc.constant((world: World) => void (world.file = fileOf(before))),
);
const history = fc.array(fc.tuple(event, fc.constantFrom(0, 1, 2, 5, 60)), {
  maxLength: 25,
  size: "max",
});

/** Under the withdrawal the kubelet may at first not come back from a restart. */
const ends = fc.record({
  restart: fc.constantFrom("Always" as const, "Never" as const),
  fate: fc.constantFrom(...fates),
});

function play(
  world: World,
  happened: readonly (readonly [(world: World) => void, number])[],
): void {
  for (const [happen, steps] of happened) {
    happen(world);
    for (let done = 0; done < steps; done += 1) world.step();
  }
}

test("H20: whatever happened before, a withdrawal leaves the node as it was before us, and its kubelet running", () => {
  fc.assert(
    fc.property(history, ends, (happened, { restart, fate }) => {
      const world = new World();
      play(world, happened);
      [world.full, world.refused, world.fate, world.restart] = [false, false, fate, restart];
      world.publish({}, "release");
      for (let steps = 0; steps < 60; steps += 1) world.step();
      world.fate = "up";
      let last = world.step();
      const isUp = () => world.healthy && world.unit.active === "active";
      const isOver = () => last.ready && last.code === "GPS224" && isUp();
      for (let steps = 0; steps < 3000 && !isOver(); steps += 1) {
        // At rest, or where nothing may be restarted, it is somebody else who starts a kubelet.
        const ours =
          world.restart === "Always" &&
          world.journal !== undefined &&
          world.journal.phase !== "applied";
        if (!ours && !isUp()) world.start("up");
        last = world.step();
      }
      assert.equal(`${last.code} ${last.ready}`, "GPS224 true", world.journal?.phase);
      assert.ok("bytes" in world.file.now && world.file.now.bytes.toString() === before);
      assert.equal(world.unit.active, "active");
    }),
    // A run takes 10 ms.
    { numRuns: process.env["EVERY_POINT"] === "1" ? 1000 : 100 },
  );
});
