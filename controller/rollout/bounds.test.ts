/** Writes stay small, and the controller repeats a write only if the first write had no effect. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { having, pass, servedCluster, until } from "#test/model/cluster.ts";
import { decided } from "#test/model/product.ts";
import { mostListed, noMemory, type PodRecord } from "./facts.ts";
import { afterRefusal, recordUpdater } from "./node-state.ts";

const driver = { rewrite: {} };

test("lists at most 2,000 failed nodes and then saves nothing more", () => {
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

const refusals: readonly (readonly [Parameters<typeof afterRefusal>[1], number])[] = [
  ["conflict", 0],
  ["busy", 0],
  ["unsent", 0],
  ["admission", 1],
];
for (const [why, syncs] of refusals)
  test(`raises sync ${syncs === 0 ? "again" : "no more"} when a write ended with: ${why}`, () => {
    assert.equal(afterRefusal(seen(), why, { steady: 5, api: 5 }).syncs, syncs);
  });

test("copies the memory when it records the first result, and not again for further results", () => {
  const before = { ...noMemory, pods: new Map([["u", seen()]]) };
  const holder = { grants: before };
  const note = recordUpdater(holder);
  note("unknown", (record) => ({ ...record, syncs: 9 }));
  assert.equal(holder.grants, before);
  note("u", (record) => ({ ...record, syncs: 2 }));
  const { grants } = holder;
  note("u", (record) => ({ ...record, syncs: record.syncs + 1 }));
  assert.equal(holder.grants, grants);
  assert.deepEqual([grants.pods.get("u")?.syncs, before.pods.get("u")?.syncs], [3, 1]);
});

/** The record of a pod after the controller has raised the annotation `sync` once. */
function seen(): PodRecord {
  const w = servedCluster({ seed: 1, nodes: 1, budget: 1 });
  pass(w, driver, 2);
  const [record] = w.memory.pods.values();
  assert.ok(record);
  return { ...record, syncs: 1 };
}
