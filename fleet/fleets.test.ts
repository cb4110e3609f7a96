/** Checks the loop over all FleetSecrets. The management cluster is a fake. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { pino } from "pino";
import type { FleetSecret, FleetSecretSpec } from "#api/fleet-secret.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { clusterProfilesIn, fleetSecretsIn } from "#kube/client/paths.ts";
import { openMeters } from "#runtime/metrics.ts";
import { until } from "#test/cluster/await.ts";
import { FakeApi } from "#test/harness/api/api.ts";
import { directly } from "#test/harness/api/direct.ts";
import { refuse } from "#test/harness/api/protocol.ts";
import { createFleets } from "./fleets.ts";

const definition = readFileSync("manifests/chart/files/fleetsecrets/fleetsecrets.yaml", "utf8");
const fleetSecrets = fleetSecretsIn("kube-system");
const clusterApi = `
spec:
  group: cluster.x-k8s.io
  scope: Namespaced
  names: { kind: Cluster, plural: clusters }
  versions: [{ name: v1beta2, served: true, storage: true }]
`;
const crs = "names: { kind: ClusterResourceSet, plural: clusterresourcesets }";
const clusterProfiles = readFileSync("manifests/crds/clusterprofiles/clusterprofiles.yaml", "utf8");

/** A management cluster. `add` creates a FleetSecret, with a status if one is given. */
async function managementOf() {
  const api = new FakeApi();
  for (const yaml of [definition, clusterApi, clusterProfiles]) api.store.define(yaml);
  const admin = directly(api, "admin");
  await admin.create("/api/v1/namespaces", { metadata: { name: "kube-system" } });
  const add = async (name: string, more: Partial<FleetSecretSpec>, status?: object) => {
    const fleetSecret = {
      apiVersion: "globalpullsecret.io/v1alpha1",
      kind: "FleetSecret",
      metadata: { name, namespace: "kube-system" },
      spec: { secretRef: { name: "source" }, target: { name: "target" }, ...more },
    };
    await admin.create(fleetSecrets, fleetSecret);
    if (status === undefined) return;
    const how = { manager: "admin", force: true };
    await admin.apply(`${fleetSecrets}/${name}/status`, { ...fleetSecret, status }, how);
  };
  const object = (name: string) => api.object<FleetSecret>(`${fleetSecrets}/${name}`);
  const edit = async (name: string, spec: object) => {
    const { uid = "", resourceVersion = "" } = object(name)?.metadata ?? {};
    await admin.patch(`${fleetSecrets}/${name}`, { metadata: { uid, resourceVersion }, spec });
  };
  return { api, admin, add, object, edit };
}

/** Serves all FleetSecrets until `stop` is called. */
function serve(home: Cluster) {
  const meters = openMeters();
  const end = new AbortController();
  const ended = createFleets({
    home,
    holds: () => true,
    log: pino({ level: "silent" }),
    meters,
    namespace: "kube-system",
    clusterNamespaces: ["profiles"],
  }).until(end.signal);
  const stop = async () => {
    end.abort();
    await ended;
  };
  return { meters, stop };
}

/** The states of a cluster in the CRD. */
const states = /^ +state:\n.*\n +enum: \[(.+)\]$/m.exec(definition)?.[1]?.split(", ") ?? [];

test("counts the clusters of each FleetSecret by state, and forgets a deleted FleetSecret", async (t) => {
  assert.ok(states.includes("Done") && states.includes("Leaving"), states.join());
  const { api, admin, add, object } = await managementOf();
  const since = new Date().toISOString();
  const clusters = states.flatMap((state, at) =>
    Array.from({ length: at + 1 }, (_, number) => ({ name: `${state}${number}`, state, since })),
  );
  await add("full", {}, { clusters, givenUp: [{ name: "gone", reason: "GPS436" }] });
  await add("empty", {});
  // The statuses stay as they are, so the metrics can be compared with them.
  api.refuses = ({ path }, verb) =>
    verb === "patch" && path.endsWith("/status") ? refuse(403, "Forbidden", "no") : undefined;
  const { meters, stop } = serve(directly(api, "global-pull-secret-fleet"));
  t.after(stop);
  const lines = async () =>
    (await meters.registry.metrics())
      .split("\n")
      .filter((line) => line.startsWith("global_pull_secret_fleet_clusters{"))
      .toSorted();
  const linesOf = (name: string, count: (at: number) => number, givenUp: number) =>
    [...states.map((state, at) => [state, count(at)]), ["GivenUp", givenUp]].map(
      ([state, value]) =>
        `global_pull_secret_fleet_clusters{object="kube-system/${name}",state="${state}"} ${value}`,
    );
  const full = linesOf("full", (at) => at + 1, 1);
  const empty = linesOf("empty", () => 0, 0);
  const limits = { timeout: 5000, seen: lines };
  await until("both are counted", async () => (await lines()).length > 0, limits);
  assert.deepEqual(await lines(), [...full, ...empty].toSorted());
  await admin.remove(`${fleetSecrets}/empty`, object("empty")?.metadata.uid ?? "");
  const isForgotten = async () => !(await lines()).some((line) => empty.includes(line));
  await until("the deleted object is forgotten", isForgotten, limits);
  assert.deepEqual(await lines(), full.toSorted());
});

const selector = { matchLabels: { fleet: "x" } };
const labels = { fleet: "x" };
type Management = Awaited<ReturnType<typeof managementOf>>;
/** What the spec selects, and the change that adds the cluster `name` to it. */
const inventories: readonly (readonly [
  what: string,
  spec: Partial<FleetSecretSpec>,
  name: string,
  change: (management: Management) => Promise<unknown>,
])[] = [
  [
    "a namespace gets the label",
    { clusterAPI: { namespaceSelector: selector } },
    "east",
    async ({ admin }) => {
      const how = { manager: "admin", force: true };
      await admin.apply("/api/v1/namespaces/east", { metadata: { name: "east", labels } }, how);
    },
  ],
  [
    "a Cluster is created",
    { clusterAPI: { namespaceSelector: {}, clusterNameLabelValue: "Name" } },
    "east:one",
    async ({ admin }) =>
      await admin.create("/apis/cluster.x-k8s.io/v1beta2/namespaces/east/clusters", {
        metadata: { name: "one", namespace: "east" },
      }),
  ],
  [
    "a ClusterProfile is created",
    { clusterProfiles: { namespaces: ["profiles"], selector, clusterManagers: ["m"] } },
    "profiles/one",
    async ({ admin }) =>
      await admin.create(clusterProfilesIn("profiles"), {
        metadata: { name: "one", namespace: "profiles", labels },
        spec: { clusterManager: { name: "m" } },
      }),
  ],
  [
    "its selector is edited",
    { clusterAPI: { namespaceSelector: selector } },
    "east,kube-system,profiles",
    async ({ edit }) =>
      await edit("one", { clusterAPI: { namespaceSelector: { matchLabels: null } } }),
  ],
];
for (const [what, spec, name, change] of inventories)
  test(`lists a cluster in status within seconds after ${what}`, async (t) => {
    const management = await managementOf();
    const { api, admin, add, object } = management;
    for (const namespace of ["east", "profiles"])
      await admin.create("/api/v1/namespaces", { metadata: { name: namespace } });
    await add("one", spec);
    const { stop } = serve(directly(api, "global-pull-secret-fleet"));
    t.after(stop);
    const names = () => object("one")?.status?.clusters?.map((cluster) => cluster.name);
    const limits = { timeout: 5000, seen: names };
    await until("no cluster is listed", () => names()?.length === 0, limits);
    await change(management);
    await until("the cluster is listed", () => names()?.join() === name, limits);
  });

test("watches only the present source after an edit, and nothing of a deleted FleetSecret", async (t) => {
  const { api, admin, add, object, edit } = await managementOf();
  api.store.define(clusterApi.replace("cluster.x", "addons.cluster.x").replace(/names:.*/, crs));
  const metadata = { name: "east", labels };
  await admin.create("/api/v1/namespaces", { metadata });
  const home = directly(api, "global-pull-secret-fleet");
  const watches: string[] = [];
  const stream: Cluster["stream"] = async (path, query, signal, line) => {
    const watch = `${path} ${query["fieldSelector"] ?? ""}`;
    watches.push(watch);
    await home
      .stream(path, query, signal, line)
      .finally(() => watches.splice(watches.indexOf(watch), 1));
  };
  const { stop } = serve({ ...home, stream });
  t.after(stop);
  const limits = { timeout: 5000, seen: () => watches };
  await until("it watches the inventory", () => watches.length === 3, limits);
  const before = watches.toSorted();
  const isWatched = (name: string) => watches.some((watch) => watch.endsWith(`.name=${name}`));
  const clusterAPI = { namespaceSelector: selector };
  await add("one", { clusterAPI, via: "ClusterResourceSet", removal: { grace: "0s" } });
  await until("it watches the cluster", () => isWatched("crs-target"), limits);
  assert.ok(isWatched("source"));
  await edit("one", { secretRef: { name: "other" } });
  await until("it watches the other source", () => isWatched("other"), limits);
  await until("the first source is forgotten", () => !isWatched("source"), limits);
  await admin.remove(`${fleetSecrets}/one`, object("one")?.metadata.uid ?? "");
  const isOver = () => watches.toSorted().join() === before.join();
  await until("nothing of it is watched", isOver, limits);
});

test("does not end before the running work has ended", async () => {
  const { api, add } = await managementOf();
  await add("one", { clusterAPI: { namespaceSelector: selector } });
  const home = directly(api, "global-pull-secret-fleet");
  const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const patch: Cluster["patch"] = async (path, body) => {
    begun.resolve();
    await released.promise;
    return await home.patch(path, body);
  };
  const { stop } = serve({ ...home, patch });
  await begun.promise;
  let hasEnded = false;
  const ended = stop().then(() => (hasEnded = true));
  for (let turn = 0; turn < 50; turn += 1) await setImmediate();
  assert.ok(!hasEnded);
  released.resolve();
  await ended;
});
