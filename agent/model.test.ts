/**
 * A fake node. Contents and withdrawals are ordered at random, orders disappear, and flags change.
 * The kubelet dies, hangs, falls silent or is restarted by others. The agent is killed, the disk is
 * full, and another program damages config.json.
 */
import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { before, kubeletStates, fileOf, words, FakeNode } from "./node.fixture.ts";

const entries = fc.dictionary(fc.constantFrom("a.io", "b.io"), fc.constantFrom(...words), {
  minKeys: 1,
});
const event: fc.Arbitrary<(node: FakeNode) => void> = fc.oneof(
  {
    weight: 4,
    arbitrary: entries.map((content) => (node: FakeNode) => node.publish(content, "apply")),
  },
  { weight: 2, arbitrary: fc.constant((node: FakeNode) => node.forget()) },
  { weight: 2, arbitrary: fc.constant((node: FakeNode) => node.ask()) },
  { weight: 2, arbitrary: fc.constant((node: FakeNode) => node.publish({}, "release")) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom("Always", "Never")
      .map((restart) => (node: FakeNode) => void (node.restart = restart)),
  },
  {
    weight: 6,
    arbitrary: fc
      .constantFrom(...kubeletStates)
      .map((state) => (node: FakeNode) => void (node.kubelet = state)),
  },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom(...kubeletStates)
      .map((state) => (node: FakeNode) => node.start(state)),
  },
  fc.boolean().map((full) => (node: FakeNode) => void (node.full = full)),
  fc.boolean().map((refused) => (node: FakeNode) => void (node.refused = refused)),
  fc.constant((node: FakeNode) => node.kill()),
  { weight: 2, arbitrary: fc.constant((node: FakeNode) => void node.step(true)) },
  // Another program restores its own copy of config.json.
  fc.constant((node: FakeNode) => void (node.file = fileOf(before))),
);
const history = fc.array(fc.tuple(event, fc.constantFrom(0, 1, 2, 5, 60)), {
  maxLength: 25,
  size: "max",
});

/** During the withdrawal, the kubelet can fail to restart at first. */
const ends = fc.record({
  restart: fc.constantFrom("Always" as const, "Never" as const),
  state: fc.constantFrom(...kubeletStates),
});

function play(
  node: FakeNode,
  happened: readonly (readonly [(node: FakeNode) => void, number])[],
): void {
  for (const [happen, steps] of happened) {
    happen(node);
    for (let done = 0; done < steps; done += 1) node.step();
  }
}

test("H20: on a withdrawal, restores the node's state from before our first change with a running kubelet, whatever happened since", () => {
  fc.assert(
    fc.property(history, ends, (happened, { restart, state }) => {
      const node = new FakeNode();
      play(node, happened);
      [node.full, node.refused, node.kubelet, node.restart] = [false, false, state, restart];
      node.publish({}, "release");
      for (let steps = 0; steps < 60; steps += 1) node.step();
      node.kubelet = "up";
      let last = node.step();
      const isUp = () => node.healthy && node.unit.active === "active";
      const isRemoved = () => "result" in last && last.result === "Removed";
      const isOver = () => isRemoved() && isUp();
      for (let steps = 0; steps < 3000 && !isOver(); steps += 1) {
        // At rest, or without restarts, the agent does not start the kubelet, so the test does.
        const ours =
          node.restart === "Always" &&
          node.journal !== undefined &&
          node.journal.phase !== "applied";
        if (!ours && !isUp()) node.start("up");
        last = node.step();
      }
      assert.ok(isRemoved(), `${last.code} ${node.journal?.phase}`);
      assert.ok("bytes" in node.file.now && node.file.now.bytes.toString() === before);
      assert.equal(node.unit.active, "active");
    }),
    // A run takes 10 ms.
    { numRuns: process.env["EVERY_POINT"] === "1" ? 1000 : 100 },
  );
});
