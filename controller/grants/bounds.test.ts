/** What is written stays small, and is written again only if it was not written. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { having, pass, servedCluster, until } from "#test/model/cluster.ts";
import { decided } from "#test/model/product.ts";
import { mostListed } from "./facts.ts";
import { afterRefusal, noMemory, type Seen } from "./memory.ts";

const driver = { isLockstep: false, rewrite: {} };

test("lists at most 2,000 failed nodes, and then saves nothing more", () => {
  const w = servedCluster({ seed: 1, nodes: 3, budget: 1 });
  Object.assign(w.api, { a: 200, maxFailures: 5000 });
  w.truth.allowed += 1;
  assert.ok(until(w, driver, 300, () => having(w, "200.2") === 3) < 300);
  pass(w, driver, 100);
  // The list is full, and one more node fails.
  w.api.state.failed = Array.from({ length: mostListed }, (_, at) => `uid-${at}`);
  const [pod] = w.api.pods.values();
  assert.ok(pod?.grant);
  const key = `${pod.grant.rev}/${pod.grant.digest}/${pod.grant.since}`;
  pod.message = { kind: "failed", key, rev: pod.grant.rev, journal: 3 };
  const { actions, view } = decided(w, w.api, {});
  assert.deepEqual(
    [view.failed.map(({ node }) => node), actions.filter(({ kind }) => kind === "save")],
    [[pod.node], []],
  );
});

const refusals: readonly (readonly [Parameters<typeof afterRefusal>[2], number])[] = [
  ["conflict", 0],
  ["busy", 0],
  ["unsent", 0],
  ["admission", 1],
];
for (const [why, syncs] of refusals)
  test(`raises sync ${syncs === 0 ? "again" : "no more"} when a write ended with: ${why}`, () => {
    const { pods } = seen();
    const memory = { ...noMemory, pods };
    const after = afterRefusal(memory, "u", why, { steady: 5, api: 5 });
    assert.equal(after.pods.get("u")?.syncs, syncs);
  });

/** A pod for whose grant sync was raised once. */
function seen(): { pods: ReadonlyMap<string, Seen> } {
  const w = servedCluster({ seed: 1, nodes: 1, budget: 1 });
  pass(w, driver, 2);
  const [one] = w.memory.pods.values();
  assert.ok(one);
  return { pods: new Map([["u", { ...one, syncs: 1 }]]) };
}
