/**
 * One FleetSecret replaces another FleetSecret with the same target. Both use ClusterResourceSets,
 * so they place their objects in the management cluster. The management cluster is a fake.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { KubernetesObject } from "@kubernetes/client-node";
import type { FleetSecret, FleetSecretSpec } from "#api/fleet-secret.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { fleetSecretsIn } from "#kube/client/paths.ts";
import { Fleet } from "./fleet.ts";
import { ownerMark } from "./rules/content.ts";

const copiesIn = (cluster: string) => [
  `/api/v1/namespaces/${cluster}/secrets/crs-target`,
  `/apis/addons.cluster.x-k8s.io/v1beta2/namespaces/${cluster}/clusterresourcesets/crs-target`,
];
const source = "/api/v1/namespaces/kube-system/secrets/source";
const here = fleetSecretsIn("kube-system");

/** The conditions that Cluster API reports. */
const applied = { status: { conditions: [{ type: "ResourcesApplied", status: "True" }] } };

/**
 * Stores objects by path, and sends changes to the watches. Deletes a FleetSecret that has a
 * deletionTimestamp and no finalizer.
 */
class Home {
  readonly objects = new Map<string, KubernetesObject>();
  /** Paths of deleted objects, in order. */
  readonly removed: string[] = [];
  readonly #watches = new Set<(path: string, type: string, object: KubernetesObject) => void>();
  #version = 1;

  put(path: string, object: KubernetesObject): KubernetesObject {
    this.#version += 1;
    const uid = this.objects.get(path)?.metadata?.uid ?? `u${this.#version}`;
    const metadata = { uid, ...object.metadata, resourceVersion: String(this.#version) };
    const stored = { ...object, metadata, ...(path.includes("/clusterresourcesets/") && applied) };
    this.objects.set(path, stored);
    for (const shows of this.#watches) shows(path, "MODIFIED", stored);
    return stored;
  }

  drop(path: string): void {
    const { metadata, ...rest } = this.objects.get(path) ?? {};
    this.#version += 1;
    this.objects.delete(path);
    this.removed.push(path);
    const gone = { ...rest, metadata: { ...metadata, resourceVersion: String(this.#version) } };
    for (const shows of this.#watches) shows(path, "DELETED", gone);
  }

  /** The namespaces that each label selects. */
  readonly selected: Record<string, readonly string[]> = {};

  /** If set, all reads in this namespace fail. */
  cut: string | undefined;

  readonly cluster = {
    get: async (path: string) => {
      if (path.includes(`/namespaces/${this.cut}/`))
        throw new ApiError({ status: 503, reason: "Away", method: "GET", path });
      const [collection = "", query] = path.split("?");
      if (query === undefined) return this.objects.get(path);
      const item = this.objects.get(`${collection}/${nameIn(new URLSearchParams(query))}`);
      const metadata = { resourceVersion: String(this.#version) };
      return { kind: "List", apiVersion: "v1", metadata, items: item ? [item] : [] };
    },
    pages: async (_: string, query: Record<string, string>, each: (all: object[]) => void) =>
      each(
        (this.selected[query["labelSelector"] ?? ""] ?? []).map((name) => ({ metadata: { name } })),
      ),
    apply: async (path: string, body: FleetSecret) => {
      const object = path.replace(/\/status$/, "");
      const stored = this.objects.get(object) as FleetSecret | undefined;
      if (stored?.kind !== "FleetSecret") return this.put(path, body);
      return this.put(object, { ...stored, status: body.status } as FleetSecret);
    },
    patch: async (path: string, { metadata: { finalizers = [] } }: FleetSecret) => {
      const stored = this.objects.get(path);
      if (finalizers.length === 0) return this.drop(path);
      return this.put(path, { ...stored, metadata: { ...stored?.metadata, finalizers } });
    },
    remove: async (path: string) => this.drop(path),
    create: async () => {},
    stream: async (
      path: string,
      query: Record<string, string>,
      signal: AbortSignal,
      line: (text: string) => void,
    ) => {
      const followed = `${path}/${nameIn(new URLSearchParams(query))}`;
      const shows = (changed: string, type: string, object: KubernetesObject) => {
        if (changed === followed) line(JSON.stringify({ type, object }));
      };
      this.#watches.add(shows);
      await once(signal, "abort");
      this.#watches.delete(shows);
    },
  } as unknown as Cluster;
}

const nameIn = (query: URLSearchParams) => query.get("fieldSelector")?.split("=")[1];

type Name = "first" | "second";

/**
 * Two FleetSecrets with the same target. The older FleetSecret is `first`, and selects the clusters
 * x and y from the start.
 */
function replacing(t: TestContext, spec: Partial<FleetSecretSpec> = {}) {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"], now: Date.parse("2026-11-27") });
  t.mock.method(performance, "now", () => Date.now());
  const home = new Home();
  const fleets = new Map<string, Fleet>();
  t.after(() => {
    for (const fleet of fleets.values()) fleet.close();
  });
  const find = (name: Name) => home.objects.get(`${here}/${name}`) as FleetSecret | undefined;
  const edit = (name: Name, change: (object: FleetSecret) => object) =>
    home.put(`${here}/${name}`, change(find(name) ?? assert.fail(name)));
  const scenario = {
    home,
    find,
    /** State and code of the cluster x in the object's status. */
    state(name: Name): string | undefined {
      const cluster = find(name)?.status?.clusters?.find((entry) => entry.name === "x");
      return cluster && `${cluster.state} ${cluster.reason?.slice(0, 6) ?? ""}`.trim();
    },
    /**
     * Lets this many seconds pass, in at most a hundred steps. In each step, every object runs
     * once.
     */
    async pass(seconds: number) {
      const step = Math.max(3, seconds / 100);
      for (let remaining = seconds; remaining > 0; remaining -= step) {
        const all = (["first", "second"] as const).flatMap((name) => find(name) ?? []);
        for (const object of all) {
          const { name = "" } = object.metadata;
          const place = {
            home: home.cluster,
            clusterId: "id",
            holds: () => true,
            source: () => ({ secret: home.objects.get(source) }),
          };
          const fleet = fleets.get(name) ?? new Fleet({ ...place, hint() {}, log() {} });
          fleets.set(name, fleet);
          await fleet.run(object, all);
        }
        for (let n = 0; n < 5; n += 1) await setImmediate();
        t.mock.timers.tick(step * 1000);
      }
    },
    select: (name: Name, ...clusters: readonly string[]) =>
      void (home.selected[`by=${name}`] = clusters),
    set: (name: Name, more: Partial<FleetSecretSpec>) =>
      void edit(name, (object) => ({ ...object, spec: { ...object.spec, ...more } })),
    remove: (name: Name) =>
      void edit(name, (object) => ({
        ...object,
        metadata: { ...object.metadata, deletionTimestamp: new Date() },
      })),
    /** Restarts the controller, which then has no connections. */
    restart() {
      for (const each of fleets.values()) each.close();
      fleets.clear();
    },
    /**
     * The owner whose mark both objects of a cluster have: the Secret and the ClusterResourceSet.
     */
    owner(cluster = "x"): string | undefined {
      const marks = copiesIn(cluster).map((path) => ownerMark(home.objects.get(path) ?? {}));
      assert.equal(marks[0], marks[1]);
      return marks[0]?.split("/").at(-1);
    },
    /** Paths of a cluster's objects that were deleted. */
    removed: (cluster = "x") => home.removed.filter((path) => copiesIn(cluster).includes(path)),
  };
  for (const [name, time] of [
    ["first", 1],
    ["second", 2],
  ] as const)
    home.put(`${here}/${name}`, {
      apiVersion: "globalpullsecret.io/v1alpha1",
      kind: "FleetSecret",
      metadata: { name, namespace: "kube-system", creationTimestamp: new Date(time) },
      spec: {
        secretRef: { name: "source" },
        clusterAPI: { namespaceSelector: { matchLabels: { by: name } } },
        target: { name: "target" },
        via: "ClusterResourceSet",
        removal: { grace: "5m", deadline: "1h" },
        rollout: { canary: 0, maxConcurrency: 1 },
        ...spec,
      },
    } as FleetSecret);
  home.put(source, { type: "Opaque", data: {} } as KubernetesObject);
  scenario.select("first", "x", "y");
  return scenario;
}

type Replacing = ReturnType<typeof replacing>;

/** Actions after which an object no longer serves the cluster x. */
const ends: readonly (readonly [what: string, end: (scenario: Replacing, of: Name) => void])[] = [
  ["deselects the cluster", (scenario, of) => scenario.select(of, "y")],
  ["is deleted", (scenario, of) => scenario.remove(of)],
];
for (const [what, end] of ends)
  for (const removalPolicy of ["Delete", "Orphan"] as const)
    test(`${removalPolicy}: when the older object ${what}, hands the Secret to a younger object`, async (t) => {
      const scenario = replacing(t, { removalPolicy });
      await scenario.pass(60);
      assert.deepEqual([scenario.owner(), scenario.owner("y")], ["first", "first"]);
      scenario.select("second", "x");
      await scenario.pass(30);
      assert.deepEqual([scenario.owner(), scenario.state("second")], ["first", "Failed GPS434"]);
      end(scenario, "first");
      await scenario.pass(600);
      assert.deepEqual([scenario.owner(), scenario.state("second")], ["second", "Done"]);
      assert.deepEqual([scenario.state("first"), scenario.removed()], [undefined, []]);
    });

for (const [what, end] of ends)
  for (const removalPolicy of ["Delete", "Orphan"] as const) {
    test(`${removalPolicy}: when the older object ${what}, hands the Secret to a younger, paused object, even if the controller restarts during the pause`, async (t) => {
      const scenario = replacing(t, { removalPolicy });
      scenario.select("second", "x");
      scenario.set("second", { managementState: "Paused" });
      await scenario.pass(60);
      end(scenario, "first");
      await scenario.pass(400);
      assert.equal(scenario.state("first"), "Leaving GPS462");
      scenario.restart();
      await scenario.pass(30);
      scenario.set("second", { managementState: "Managed" });
      await scenario.pass(60);
      assert.deepEqual([scenario.owner(), scenario.state("second")], ["second", "Done"]);
      assert.deepEqual([scenario.state("first"), scenario.removed()], [undefined, []]);
    });

    test(`${removalPolicy}: when the older object ${what}, hands the Secret to a younger object, even if the cluster is unreachable until after the deadline`, async (t) => {
      const scenario = replacing(t, { removalPolicy });
      scenario.select("second", "x");
      await scenario.pass(60);
      // This closes the open watches, because `cut` makes only reads fail.
      scenario.restart();
      scenario.home.cut = "x";
      end(scenario, "first");
      await scenario.pass(4200);
      assert.deepEqual(
        [scenario.owner(), scenario.state("first"), scenario.state("second")],
        ["first", "Leaving GPS462", "Unreachable GPS438"],
      );
      // After a restart, the next try does not wait for a pause in real time.
      scenario.restart();
      scenario.home.cut = undefined;
      await scenario.pass(120);
      assert.deepEqual([scenario.owner(), scenario.state("second")], ["second", "Done"]);
      assert.deepEqual([scenario.state("first"), scenario.removed()], [undefined, []]);
    });
  }

test("when the younger object leaves a cluster, hands the Secret to an older object that selects the cluster", async (t) => {
  const scenario = replacing(t);
  scenario.select("first", "y");
  scenario.select("second", "x");
  await scenario.pass(60);
  assert.equal(scenario.owner(), "second");
  scenario.set("first", { managementState: "Paused" });
  scenario.select("first", "x", "y");
  await scenario.pass(30);
  scenario.select("second");
  await scenario.pass(4200);
  assert.deepEqual([scenario.owner(), scenario.state("second")], ["second", "Leaving GPS462"]);
  scenario.set("first", { managementState: "Managed" });
  await scenario.pass(60);
  assert.deepEqual(
    [scenario.owner(), scenario.state("first"), scenario.state("second")],
    ["first", "Done", undefined],
  );
  assert.deepEqual(scenario.removed(), []);
});

test("while a paused object selects a cluster, keeps the Secret there, and removes other Secrets without a delay", async (t) => {
  const scenario = replacing(t);
  scenario.select("second", "x");
  scenario.set("second", { managementState: "Paused" });
  await scenario.pass(60);
  scenario.remove("first");
  await scenario.pass(4200);
  assert.deepEqual([scenario.owner(), scenario.state("first")], ["first", "Leaving GPS462"]);
  assert.deepEqual([scenario.owner("y"), scenario.removed("y").length], [undefined, 2]);
  scenario.select("second");
  await scenario.pass(60);
  assert.deepEqual(
    [scenario.owner(), scenario.find("first"), scenario.removed().length],
    [undefined, undefined, 2],
  );
});

test("returns a cluster to the older object when the older object selects the cluster again", async (t) => {
  const scenario = replacing(t);
  scenario.select("second", "x");
  await scenario.pass(60);
  scenario.select("first", "y");
  await scenario.pass(60);
  assert.equal(scenario.owner(), "second");
  scenario.select("first", "x", "y");
  await scenario.pass(60);
  assert.deepEqual(
    [scenario.owner(), scenario.state("first"), scenario.state("second")],
    ["first", "Done", "Failed GPS434"],
  );
  assert.deepEqual(scenario.removed(), []);
});
