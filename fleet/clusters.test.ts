import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClusterStatus, FleetSecret, FleetSecretSpec } from "#api/fleet-secret.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { Guests, takesOf } from "./clusters.ts";
import type { Standing } from "./rules/order.ts";
import { sentence } from "./rules/problems.ts";

const spec: FleetSecretSpec = { secretRef: { name: "source" }, target: { name: "target" } };
const table: readonly (readonly [mark: string | undefined, refuse: boolean, adopt: boolean])[] = [
  [undefined, false, true],
  ["former/kube-system/one", false, true],
  ["id/kube-system/older", false, false],
  ["id/kube-system/younger", true, true],
];
for (const [mark, refuse, adopt] of table)
  test(`takes over a Secret of ${mark ?? "nobody"}: ${refuse} with Refuse, ${adopt} with Adopt`, () => {
    const rivals = [["id/kube-system/older"], ["id/kube-system/younger"]] as const;
    assert.equal(takesOf({ spec }, ...rivals)(mark), refuse);
    assert.equal(takesOf({ spec: { ...spec, conflicts: "Adopt" } }, ...rivals)(mark), adopt);
  });

/** A management cluster that has no object, and the collections that are asked for one. */
function asking() {
  const asked: { path: string; query: object }[] = [];
  const home = {
    async get(path: string) {
      asked.push({ path, query: {} });
    },
    async pages(path: string, query: object) {
      asked.push({ path, query });
    },
    stream: () => new Promise(() => {}),
  } as unknown as Cluster;
  return { asked, home };
}

const delegated = (selector: object, target = "pull-secret"): FleetSecretSpec => ({
  ...spec,
  via: "ClusterResourceSet",
  target: { name: target },
  clusterAPI: { namespaceSelector: { matchLabels: { a: "b" } }, clusterSelector: selector },
});

test("a guest whose way changed, because its selectors were edited, is connected anew, and no other is", () => {
  const { home } = asking();
  const guests = new Guests({ home, holds: () => true, hint() {} });
  const gold = delegated({ matchLabels: { tier: "gold" } });
  guests.keep(["a"], [], gold);
  const first = guests.get("a");
  guests.keep(["a"], [], structuredClone(gold));
  assert.equal(guests.get("a"), first, "nothing was edited");
  guests.keep(["a"], [], { ...gold, rollout: { canary: 0 } });
  assert.equal(guests.get("a"), first, "the pace is no part of the way");
  guests.keep(["a"], [], delegated({ matchLabels: { tier: "silver" } }));
  assert.notEqual(guests.get("a"), first);
  guests.keep([]);
});

/** What status said, and how the cluster counts until the next controller has asked it. */
const remembered: readonly (readonly [
  state: ClusterStatus["state"],
  reason: string | undefined,
  standing: Standing,
])[] = [
  ["Done", undefined, "done"],
  ["Progressing", undefined, "busy"],
  ["Waiting", undefined, "unreachable"],
  ["Unreachable", sentence("unreachable", "x"), "unreachable"],
  ["Failed", sentence("rejected", "x"), "failed"],
  ["Failed", sentence("refusedThere", "x"), "failed"],
  ...(["refused", "mutated", "foreign", "kubeconfig", "late", "conflict"] as const).map(
    (kind) => ["Failed", sentence(kind, "x"), "unreachable"] as const,
  ),
];
for (const [state, reason, standing] of remembered)
  test(`a cluster that was ${state} for ${reason?.slice(0, 6) ?? "no reason"} counts as ${standing} until it has answered`, () => {
    const guests = new Guests({ home: {} as Cluster, holds: () => true, hint() {} });
    const since = new Date().toISOString();
    const known = { name: "a", state, since, ...(reason === undefined ? {} : { reason }) };
    const object: FleetSecret = {
      apiVersion: "globalpullsecret.io/v1alpha1",
      kind: "FleetSecret",
      metadata: { name: "one" },
      spec,
      status: { sourceResourceVersion: "1", clusters: [known] },
    };
    const source = { ok: true, content: { type: "Opaque", data: {} }, version: "1" } as const;
    const judged = guests.judge("a", { object, source, owner: "o", now: Date.now() });
    assert.deepEqual([judged.standing, judged.state, judged.reason], [standing, state, reason]);
  });
