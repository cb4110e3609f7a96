import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClusterStatus, FleetSecret } from "#api/fleet-secret.ts";
import { membersOf } from "./members.ts";

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

/** `seconds`: until the next change. */
const leavingCluster = (due: boolean, overdue: boolean, seconds: number) => {
  return { name: "x", due, overdue, next: now + seconds * 1000 };
};

const table: readonly (readonly [what: string, known: ClusterStatus[], left: object[]])[] = [
  ["was never in status", [], []],
  ["has just lost its label", [done("x")], [leavingCluster(false, false, 300)]],
  ["is within the grace period", [leaving("x", 299)], [leavingCluster(false, false, 1)]],
  ["is past the grace period", [leaving("x", 300)], [leavingCluster(true, false, 3600)]],
  ["is past the deadline", [leaving("x", 3900)], [leavingCluster(true, true, 0)]],
];
for (const [what, clusters, expected] of table)
  test(`decides when to withdraw from a cluster that is not selected and ${what}`, () => {
    const members = membersOf({ object: fleetSecret(clusters), selected: ["a"], now });
    assert.deepEqual(members, { served: ["a"], leaving: expected, cut: 0 });
  });

test("serves a leaving cluster that is selected again, even after the deadline", () => {
  const object = fleetSecret([leaving("a", 9999)]);
  const members = { served: ["a"], leaving: [], cut: 0 };
  assert.deepEqual(membersOf({ object, selected: ["a"], now }), members);
});

test("serves no cluster of a deleted object, and starts the grace period", () => {
  const object = fleetSecret([done("a")], { deletionTimestamp: new Date(now) });
  const leaving = [{ ...leavingCluster(false, false, 300), name: "a" }];
  const members = { served: [], leaving, cut: 0 };
  assert.deepEqual(membersOf({ object, selected: ["a"], now }), members);
});

const mostClusters = 1000;
const names = (count: number) => Array.from({ length: count }, (_, n) => `n${n}`);

const most: readonly (readonly [what: string, selected: number, leaving: number, cut: number])[] = [
  ["serves as many as status can hold", 1000, 0, 0],
  ["does not serve more than status can hold", 1001, 0, 1],
  ["counts leaving clusters in status too", 1000, 1, 1],
  ["serves none while leaving clusters fill the status", 3, 1000, 3],
];
for (const [what, count, leavingCount, cut] of most)
  test(`${what}: ${cut} not served with ${count} selected and ${leavingCount} leaving`, () => {
    const clusters = Array.from({ length: leavingCount }, (_, n) => done(`x${n}`));
    const members = membersOf({ object: fleetSecret(clusters), selected: names(count), now });
    assert.deepEqual(
      [members.served.length, members.leaving.length, members.cut],
      [count - cut, leavingCount, cut],
    );
    assert.ok(members.served.length + members.leaving.length <= mostClusters);
  });

test("never drops a served cluster to serve a new cluster, whatever their names", () => {
  const clusterNames = names(mostClusters);
  const object = fleetSecret(clusterNames.map(done));
  const { served, cut } = membersOf({ object, selected: ["a", ...clusterNames], now });
  assert.deepEqual([served, cut], [clusterNames.toSorted(), 1]);
});
