import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { ClusterStatus, FleetSecret, FleetSecretSpec } from "#api/fleet-secret.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import type { FleetCluster } from "./cluster.ts";
import { FleetClusters, limitedHint } from "./clusters.ts";
import { contentOf } from "./rules/content.ts";
import type { RolloutState } from "./rules/order.ts";
import { sentence } from "./rules/problems.ts";

const spec: FleetSecretSpec = { secretRef: { name: "source" }, target: { name: "target" } };
/** A management cluster without objects, and a record of the collections that were read. */
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

test("after an edit of the selectors, reconnects only clusters whose transport has changed", () => {
  const { home } = asking();
  const clusters = new FleetClusters({ home, holds: () => true, hint() {} });
  const gold = delegated({ matchLabels: { tier: "gold" } });
  clusters.keep(["a"], [], gold);
  const first = clusters.get("a");
  clusters.keep(["a"], [], structuredClone(gold));
  assert.equal(clusters.get("a"), first, "nothing was edited");
  clusters.keep(["a"], [], { ...gold, rollout: { maxUnavailable: 1 } });
  assert.equal(clusters.get("a"), first, "the rollout's settings are not part of the transport");
  clusters.keep(["a"], [], delegated({ matchLabels: { tier: "silver" } }));
  assert.notEqual(clusters.get("a"), first);
  clusters.keep([]);
});

/**
 * A cluster's last status, and the rollout state that a new controller uses until the cluster
 * answers.
 */
const remembered: readonly (readonly [
  state: ClusterStatus["state"],
  reason: string | undefined,
  rolloutState: RolloutState,
])[] = [
  ["Done", undefined, "done"],
  ["Done", sentence("excess"), "done"],
  ["Progressing", undefined, "working"],
  ["Waiting", undefined, "unreachable"],
  ["Unreachable", sentence("unreachable", "x"), "unreachable"],
  ["Failed", sentence("rejected", "x"), "refused"],
  ["Failed", sentence("refusedThere", "x"), "refused"],
  ...(["refused", "mutated", "foreign", "kubeconfig"] as const).map(
    (kind) => ["Failed", sentence(kind, "x"), "unreachable"] as const,
  ),
];
/** The judgement of a cluster that has not answered, and whose last status was about content 1. */
function unanswered(state: ClusterStatus["state"], reason: string | undefined, version: string) {
  const clusters = new FleetClusters({ home: {} as Cluster, holds: () => true, hint() {} });
  const since = new Date().toISOString();
  const clusterStatus = { name: "a", state, since, ...(reason === undefined ? {} : { reason }) };
  const object: FleetSecret = {
    apiVersion: "globalpullsecret.io/v1alpha1",
    kind: "FleetSecret",
    metadata: { name: "one" },
    spec,
    status: { sourceResourceVersion: "1", clusters: [clusterStatus] },
  };
  const source = { ok: true, content: contentOf("Opaque", {}), version } as const;
  const judged = clusters.judge("a", { object, source, owner: "o", now: Date.now() });
  return [judged.rolloutState, judged.state, judged.reason];
}

for (const [state, reason, rolloutState] of remembered) {
  const last = `${state} with ${reason?.slice(0, 6) ?? "no reason"}`;
  test(`until a cluster answers, counts it as ${rolloutState} if its last status was ${last}`, () =>
    assert.deepEqual(unanswered(state, reason, "1"), [rolloutState, state, reason]));
  test(`after a rotation, does not count that its last status was ${last}`, () =>
    assert.deepEqual(unanswered(state, reason, "2"), ["unreachable", "Waiting", undefined]));
}

/** The cluster `a`, in which we observe this. */
function withCluster(t: TestContext, observed: ReturnType<FleetCluster["compare"]>) {
  const { home } = asking();
  const clusters = new FleetClusters({ home, holds: () => true, hint() {} });
  t.after(() => clusters.keep([]));
  clusters.keep(["a"], [], spec);
  const cluster = clusters.get("a") ?? assert.fail("no cluster");
  t.mock.method(cluster, "compare", () => observed);
  return { clusters, cluster };
}

for (const [present, last, state] of [
  [true, "Done", "Done"],
  [false, "Done", "Waiting"],
  [true, "Failed", "Waiting"],
] as const)
  test(`while the source cannot be read, shows ${state} after ${last} if the target ${present ? "exists" : "is gone"}`, (t) => {
    const { clusters } = withCluster(t, { is: "other", present });
    const since = new Date().toISOString();
    const status = { clusters: [{ name: "a", state: last, since }] };
    const object = { metadata: { name: "one" }, spec, status } as unknown as FleetSecret;
    const run = { object, source: undefined, owner: "o", now: Date.now() };
    const judged = clusters.judge("a", run);
    assert.deepEqual([judged.rolloutState, judged.state], ["done", state]);
  });

for (const [own, rolloutState] of [
  [false, "refused"],
  [true, "unreachable"],
] as const)
  test(`counts a cluster as ${rolloutState} after a refusal for ${own ? "its own" : "the content's"} reason`, (t) => {
    const { clusters, cluster } = withCluster(t, { is: "other", present: false });
    t.mock.method(cluster, "refusal", () => ({ why: "403", own, wait: 5000 }));
    const object = { metadata: { name: "one" }, spec } as unknown as FleetSecret;
    const source = { ok: true, content: contentOf("Opaque", {}), version: "1" } as const;
    const judged = clusters.judge("a", { object, source, owner: "o", now: 1000 });
    assert.deepEqual(judged, { rolloutState, state: "Failed", reason: "403", next: 6000 });
  });

for (const [kind, rolloutState, counts] of [
  ["refused", "unreachable", true],
  ["mutated", "unreachable", true],
  ["rejected", "refused", true],
  ["unreachable", "waiting", false],
  ["foreign", "waiting", false],
] as const)
  test(`after a restart, ${counts ? "tries a cluster at once, and meanwhile counts" : "does not count"} its refusal if its last status was Failed with the code for ${kind}`, (t) => {
    const { clusters } = withCluster(t, { is: "other", present: false });
    const reason = sentence(kind, "x");
    const since = new Date(1000).toISOString();
    const judge = (state: ClusterStatus["state"], version: string) => {
      const status = {
        sourceResourceVersion: "1",
        clusters: [{ name: "a", state, since, reason }],
      };
      const object = { metadata: { name: "one" }, spec, status } as unknown as FleetSecret;
      const source = { ok: true, content: contentOf("Opaque", {}), version } as const;
      return clusters.judge("a", { object, source, owner: "o", now: 2000 });
    };
    const waiting = { rolloutState: "waiting", state: "Waiting" };
    const refused = { rolloutState, state: "Failed", reason, isDue: true };
    assert.deepEqual(judge("Failed", "1"), counts ? refused : waiting);
    assert.deepEqual(judge("Failed", "2"), waiting, "the refusal was of other content");
    assert.deepEqual(judge("Unreachable", "1"), waiting, "it was no refusal");
  });

for (const [what, observed, state, reason] of [
  ["no other reason", { is: "has", proof: "unasked" }, "Done", "GPS460: much"],
  ["another reason", { is: "foreign", why: "GPS435: other" }, "Failed", "GPS435: other"],
] as const)
  test(`shows ${reason.slice(0, 6)} for a cluster that sends too much if there is ${what}`, (t) => {
    const { clusters, cluster } = withCluster(t, observed);
    t.mock.method(cluster, "warning", () => "GPS460: much");
    const object = { metadata: { name: "one" }, spec } as unknown as FleetSecret;
    const source = { ok: true, content: contentOf("Opaque", {}), version: "1" } as const;
    const judged = clusters.judge("a", { object, source, owner: "o", now: Date.now() });
    assert.deepEqual([judged.state, judged.reason], [state, reason]);
  });

test("runs the fleet for a cluster that changes all the time twenty times at once, then every five seconds, and never loses its last change", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  t.mock.method(performance, "now", () => now);
  let count = 0;
  const hint = limitedHint(() => (count += 1));
  const pass = (seconds: number) => {
    now += seconds * 1000;
    t.mock.timers.tick(seconds * 1000);
  };
  for (let change = 0; change < 100; change += 1) hint();
  assert.equal(count, 20);
  pass(5);
  assert.equal(count, 21);
  for (let second = 0; second < 60; second += 1) {
    hint();
    pass(1);
  }
  assert.ok(count <= 34, `${count} runs`);
  const before = count;
  hint();
  pass(20);
  assert.ok(count > before);
});
