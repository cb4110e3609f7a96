/**
 * Two FleetSecrets with the same target. Both use ClusterResourceSets, so they place their objects
 * in the management cluster. The management cluster is a fake.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { KubernetesObject } from "@kubernetes/client-node";
import type { FleetSecret, FleetSecretSpec } from "#api/fleet-secret.ts";
import { clusterResourceSetsIn, fleetSecretsIn, secretsIn } from "#kube/client/paths.ts";
import { FakeApi } from "#test/harness/api/api.ts";
import { directly } from "#test/harness/api/direct.ts";
import { Fleet } from "./fleet.ts";
import { ownerMark } from "./rules/content.ts";

const here = fleetSecretsIn("kube-system");
const copies = [`${secretsIn("x")}/crs-target`, `${clusterResourceSetsIn("x")}/crs-target`];
const definitions = [
  readFileSync("manifests/chart/files/fleetsecrets/fleetsecrets.yaml", "utf8"),
  `
spec:
  group: addons.cluster.x-k8s.io
  scope: Namespaced
  names: { kind: ClusterResourceSet, plural: clusterresourcesets }
  versions: [{ name: v1beta2, served: true, storage: true }]
`,
];

type Name = "first" | "second";

/**
 * Two FleetSecrets that select the namespace x by the label `by-NAME`. `other`: in what the spec of
 * the second one differs.
 */
async function rivals(
  t: TestContext,
  spec: Partial<FleetSecretSpec> = {},
  other: Partial<FleetSecretSpec> = {},
) {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"], now: Date.parse("2026-11-27") });
  t.mock.method(performance, "now", () => Date.now());
  const api = new FakeApi();
  for (const definition of definitions) api.store.define(definition);
  const home = directly(api, "global-pull-secret-fleet");
  const fleets = new Map<Name, Fleet>();
  t.after(() => {
    for (const fleet of fleets.values()) fleet.close();
  });
  const of = (name: Name) => api.object<FleetSecret>(`${here}/${name}`);
  for (const name of ["x", "y"]) await home.create("/api/v1/namespaces", { metadata: { name } });
  const source = () => ({
    secret: { metadata: { resourceVersion: "1" }, type: "Opaque", data: {} },
  });
  const label = async (name: Name, value: string, namespace = "x") =>
    void (await home.apply(
      `/api/v1/namespaces/${namespace}`,
      { metadata: { name: namespace, labels: { [`by-${name}`]: value } } },
      { manager: name, force: true },
    ));
  for (const name of ["first", "second"] as const)
    await home.create(here, {
      apiVersion: "globalpullsecret.io/v1alpha1",
      kind: "FleetSecret",
      metadata: { name, namespace: "kube-system" },
      spec: {
        secretRef: { name: "source" },
        clusterAPI: { namespaceSelector: { matchLabels: { [`by-${name}`]: "yes" } } },
        target: { name: "target" },
        via: "ClusterResourceSet",
        removal: { grace: "30s", deadline: "1h" },
        ...spec,
        ...(name === "second" && other),
      },
    });
  return {
    select: async (name: Name, namespace?: string) => await label(name, "yes", namespace),
    deselect: async (name: Name) => await label(name, "no"),
    async makeCanary(namespace: string) {
      const metadata = { name: namespace, labels: { stage: "canary" } };
      await home.apply(
        `/api/v1/namespaces/${namespace}`,
        { metadata },
        { manager: "admin", force: true },
      );
    },
    remove: async (name: Name) =>
      await home.remove(`${here}/${name}`, of(name)?.metadata.uid ?? ""),
    steer: async (name: Name, managementState: "Managed" | "Paused") =>
      void (await home.apply(
        `${here}/${name}`,
        { metadata: { name }, spec: { managementState } },
        { manager: "steering", force: true },
      )),
    /** The kinds of the objects that were deleted, in order. */
    deletions: () =>
      api.asked.flatMap(({ verb, resource }) => (verb === "delete" ? [resource] : [])),
    /** Puts a finalizer on the Secret. */
    async hold() {
      const [path = ""] = copies;
      const metadata = { name: "crs-target", finalizers: ["guest.example/hold"] };
      await home.apply(path, { metadata }, { manager: "guest", force: true });
    },
    /** Whether the Secret is in this namespace. */
    isIn: (namespace: string) =>
      api.object<KubernetesObject>(`${secretsIn(namespace)}/crs-target`) !== undefined,
    /** Lets this many seconds pass. Every five seconds, each object runs once, and then `check`. */
    async pass(seconds: number, check = () => {}) {
      for (let passed = 0; passed < seconds; passed += 5) {
        const all = (["first", "second"] as const).flatMap((name) => of(name) ?? []);
        for (const object of all) {
          const name = object.metadata.name as Name;
          const place = { home, clusterId: "id", holds: () => true, source };
          const fleet = fleets.get(name) ?? new Fleet({ ...place, hint() {}, log() {} });
          fleets.set(name, fleet);
          await fleet.run(object, all);
        }
        for (let turn = 0; turn < 9; turn += 1) await setImmediate();
        check();
        t.mock.timers.tick(5000);
      }
    },
    /** The owner whose mark both objects of the cluster have. */
    owner(): string | undefined {
      const [mark, other] = copies.map((path) =>
        ownerMark(api.object<KubernetesObject>(path) ?? {}),
      );
      assert.equal(mark, other);
      return mark?.split("/").at(-1);
    },
    reason: (name: Name) => of(name)?.status?.clusters?.[0]?.reason ?? "",
    /** State and code of the cluster in the object's status. */
    state(name: Name): string | undefined {
      const [cluster] = of(name)?.status?.clusters ?? [];
      return cluster && `${cluster.state} ${cluster.reason?.slice(0, 6) ?? ""}`.trim();
    },
  };
}

type Rivals = Awaited<ReturnType<typeof rivals>>;

for (const [what, other] of [
  ["another target", { target: { name: "other" } }],
  ["another transport", { via: "Direct" }],
] as const)
  test(`does not wait for a FleetSecret with ${what}, and removes the ClusterResourceSet before its Secret`, async (t) => {
    const scenario = await rivals(t, {}, other);
    for (const name of ["first", "second"] as const) await scenario.select(name);
    await scenario.pass(60);
    await scenario.deselect("first");
    await scenario.pass(60);
    assert.deepEqual([scenario.state("first"), scenario.isIn("x")], [undefined, false]);
    const kinds = ["addons.cluster.x-k8s.io/clusterresourcesets", "secrets"];
    assert.deepEqual(scenario.deletions(), kinds);
  });

for (const [when, removalPolicy, state] of [
  ["with the removal policy Orphan", "Orphan", "Managed"],
  ["during a pause", "Delete", "Paused"],
] as const)
  test(`leaves the Secret in a deselected cluster ${when}`, async (t) => {
    const scenario = await rivals(t, { removalPolicy });
    await scenario.select("first");
    await scenario.pass(60);
    await scenario.steer("first", state);
    await scenario.deselect("first");
    await scenario.pass(90);
    assert.ok(scenario.isIn("x"));
  });

/** What ends the service of a cluster by an object. */
const ends: readonly (readonly [what: string, end: (scenario: Rivals) => Promise<void>])[] = [
  ["deselects the cluster", ({ deselect }) => deselect("first")],
  ["is deleted", ({ remove }) => remove("first")],
];
for (const conflicts of ["Refuse", "Adopt"] as const)
  for (const [what, end] of ends)
    test(`${conflicts}: does not touch the Secret of another FleetSecret, and takes it over when that one ${what}`, async (t) => {
      const scenario = await rivals(t, { conflicts });
      await scenario.select("first");
      await scenario.pass(60);
      await scenario.select("second");
      await scenario.pass(60);
      assert.deepEqual([scenario.owner(), scenario.state("second")], ["first", "Failed GPS435"]);
      assert.match(scenario.reason("second"), /the FleetSecret kube-system\/first/);
      await end(scenario);
      await scenario.pass(60, () => assert.ok(scenario.owner(), "the Secret is always there"));
      assert.deepEqual([scenario.owner(), scenario.state("first")], ["second", undefined]);
    });

/** The first FleetSecret serves the cluster; the second one, which also selects it, is paused. */
async function pausedSuccessor(t: TestContext): Promise<Rivals> {
  const scenario = await rivals(t);
  await scenario.select("first");
  await scenario.pass(60);
  await scenario.select("second");
  await scenario.pass(60);
  await scenario.steer("second", "Paused");
  return scenario;
}

test("leaves the Secret in place until its paused successor takes it over", async (t) => {
  const scenario = await pausedSuccessor(t);
  await scenario.remove("first");
  await scenario.pass(90);
  assert.deepEqual([scenario.owner(), scenario.state("first")], ["first", "Leaving GPS468"]);
  assert.match(scenario.reason("first"), / kube-system\/second/);
  await scenario.steer("second", "Managed");
  await scenario.pass(60);
  assert.deepEqual([scenario.owner(), scenario.state("first")], ["second", undefined]);
});

test("takes over a Secret in a cluster that the other FleetSecret has given up", async (t) => {
  const scenario = await pausedSuccessor(t);
  await scenario.deselect("first");
  await scenario.pass(3700);
  assert.deepEqual([scenario.owner(), scenario.state("first")], ["first", undefined]);
  await scenario.steer("second", "Managed");
  await scenario.pass(60);
  assert.deepEqual([scenario.owner(), scenario.state("second")], ["second", "Progressing GPS451"]);
});

/** What keeps a Secret in a cluster from which it should be removed. */
const obstacles: readonly (readonly [
  what: string,
  code: string,
  obstruct: (scenario: Rivals) => Promise<void>,
])[] = [
  ["a finalizer holds the Secret", "GPS462", async (scenario) => await scenario.hold()],
  [
    "the successor does not take the Secret over",
    "GPS468",
    async (scenario) => {
      await scenario.select("second");
      await scenario.pass(60);
      await scenario.steer("second", "Paused");
    },
  ],
];
for (const [what, code, obstruct] of obstacles)
  test(`if ${what} in one cluster, removes the others' at once, reports ${code}, and gives that cluster up at the deadline`, async (t) => {
    const scenario = await rivals(t, { rollout: { maxUnavailable: "100%" } });
    await scenario.select("first");
    await scenario.select("first", "y");
    await scenario.pass(60);
    assert.ok(scenario.isIn("x") && scenario.isIn("y"));
    await obstruct(scenario);
    await scenario.remove("first");
    await scenario.pass(60);
    assert.deepEqual(
      [scenario.state("first"), scenario.isIn("x"), scenario.isIn("y")],
      [`Leaving ${code}`, true, false],
    );
    await scenario.pass(3600);
    assert.deepEqual([scenario.state("first"), scenario.isIn("x")], [undefined, true]);
  });

for (const [canary, other] of [
  ["x", "y"],
  ["y", "x"],
] as const)
  test(`brings the Secret to the canary ${canary}, and to ${other} only when the canary is slow`, async (t) => {
    const canaries = { matchLabels: { stage: "canary" } };
    const scenario = await rivals(t, { rollout: { canaries } });
    await scenario.makeCanary(canary);
    for (const namespace of [canary, other]) await scenario.select("first", namespace);
    await scenario.pass(115);
    assert.deepEqual([scenario.isIn(canary), scenario.isIn(other)], [true, false]);
    await scenario.pass(30);
    assert.ok(scenario.isIn(other));
  });
