import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClusterStatus, FleetSecret } from "#api/fleet-secret.ts";
import { membersOf, mostClusters, olderWithTarget, secondsOf } from "./members.ts";

const now = Date.parse("2026-11-23T12:00:00Z");
const at = (secondsAgo: number) => new Date(now - secondsAgo * 1000).toISOString();

function fleetSecret(
  clusters: readonly ClusterStatus[] = [],
  more: Partial<FleetSecret["metadata"]> = {},
): FleetSecret {
  return {
    apiVersion: "globalpullsecret.io/v1alpha1",
    kind: "FleetSecret",
    metadata: { name: "one", namespace: "kube-system", uid: "u", ...more },
    spec: {
      secretRef: { name: "source" },
      clusterAPI: { namespaceSelector: { matchLabels: { a: "b" } } },
      target: { name: "pull-secret" },
      removal: { grace: "5m", deadline: "1h" },
    },
    status: { clusters },
  };
}
const done = (name: string): ClusterStatus => ({ name, state: "Done", since: at(9999) });
const leaving = (name: string, ago: number): ClusterStatus => {
  return { name, state: "Leaving", since: at(ago) };
};

/** `seconds`: until something becomes of it. */
const left = (due: boolean, overdue: boolean, seconds: number) => {
  return { name: "x", due, overdue, next: now + seconds * 1000 };
};

const table: readonly (readonly [what: string, known: ClusterStatus[], left: object[]])[] = [
  ["was never known", [], []],
  ["has just lost its label", [done("x")], [left(false, false, 300)]],
  ["is within the grace", [leaving("x", 299)], [left(false, false, 1)]],
  ["is out of the grace", [leaving("x", 300)], [left(true, false, 3600)]],
  ["is out of the deadline", [leaving("x", 3900)], [left(true, true, 0)]],
];
for (const [what, known, left] of table)
  test(`a cluster that is not selected and ${what}`, () => {
    const members = membersOf({ object: fleetSecret(known), selected: ["a"], now });
    assert.deepEqual(members, { served: ["a"], leaving: left });
  });

test("a cluster that is selected again leaves no more, however long it was out", () => {
  const object = fleetSecret([leaving("a", 9999)]);
  assert.deepEqual(membersOf({ object, selected: ["a"], now }), { served: ["a"], leaving: [] });
});

test("a deleted object serves nobody, and begins its grace anew", () => {
  const object = fleetSecret([done("a")], { deletionTimestamp: new Date(now) });
  const leaving = [{ ...left(false, false, 300), name: "a" }];
  assert.deepEqual(membersOf({ object, selected: ["a"], now }), { served: [], leaving });
});

test("no more are served than status can hold, those that leave included", () => {
  const selected = Array.from({ length: 2000 }, (_, n) => `n${n}`);
  const { served, leaving: left } = membersOf({ object: fleetSecret([done("x")]), selected, now });
  assert.equal(served.length + left.length, mostClusters);
});

test("durations are seconds", () => {
  assert.deepEqual(["0s", "30s", "5m", "1h"].map(secondsOf), [0, 30, 300, 3600]);
});

test("the older of two with one target keeps it; the same second goes by uid, another target by none", () => {
  const made = (uid: string, creationTimestamp: Date) =>
    fleetSecret([], { uid, creationTimestamp });
  const [old, young, twin] = [
    made("b", new Date(1)),
    made("a", new Date(2)),
    made("c", new Date(1)),
  ];
  const all = [young, twin, old];
  assert.equal(olderWithTarget(old, all), undefined);
  assert.equal(olderWithTarget(twin, all), old);
  assert.equal(olderWithTarget(young, all), old);
  const other = { ...young, spec: { ...young.spec, target: { name: "other" } } };
  assert.equal(olderWithTarget(other, all), undefined);
});
