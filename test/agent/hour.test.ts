/** An hour of a node whose kubelet does not start again after the agent has restarted it. */
import assert from "node:assert/strict";
import test from "node:test";
import { Node } from "./node.ts";
import { orderedDigest } from "./secret.ts";

const hour = 3_600_000;

/** A node that is ordered to take this credential. */
function ordered(word: string): Node {
  const node = new Node(false);
  const content = { revision: 1, entries: new Map([["a.io", word]]), original: new Set<string>() };
  const newest = { ...content, isRelease: false };
  node.secret = { newest, served: undefined, former: "" };
  node.order = { revision: 1, digest: orderedDigest(newest), attempt: 1 };
  return node;
}

for (const [policy, counts] of [
  ["always", { asks: 1, revivals: 0 }],
  ["some", { asks: 1, revivals: 1 }],
  ["none", { asks: 3, revivals: 1 }],
] as const)
  test(`H18: if the kubelet starts only with its old file, tries three times, and leaves the kubelet running with its old file (systemd restarts: ${policy})`, async () => {
    using node = ordered("oX1");
    node.kubelet.policy = policy;
    await node.run(hour);
    const { asks, revivals, works } = node.kubelet;
    assert.deepEqual({ asks, revivals, works }, { ...counts, works: true });
    assert.deepEqual([node.config, node.report?.result], [undefined, "Failed"]);
  });

test("H18: if the kubelet never starts again, makes at most four restarts in the first hour", async () => {
  using node = ordered("o1");
  node.kubelet.brokenUntil = Number.POSITIVE_INFINITY;
  await node.run(hour);
  const { asks, revivals, works } = node.kubelet;
  assert.equal(works, false);
  assert.ok(asks >= 1 && asks + revivals <= 4, `${asks} restarts and ${revivals} revivals`);
});
