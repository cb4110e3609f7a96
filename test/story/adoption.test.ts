/**
 * Clusters that already have the target Secret when a FleetSecret selects them. The management
 * cluster is in memory; one server simulates the other clusters, over HTTP/2 and TLS.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import { clusterProfileVersion } from "#api/cluster-profile.ts";
import type { FleetSecret, FleetSecretSpec } from "#api/fleet-secret.ts";
import { fleetOwnerAnnotation } from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { clusterProfilesIn, clusterResourceSetsIn, secretsIn } from "#kube/client/paths.ts";
import { until } from "../cluster/await.ts";
import { FakeApi } from "../harness/api/api.ts";
import { directly } from "../harness/api/direct.ts";
import { FakeServer } from "../harness/api/server.ts";
import { startFleets } from "./ailing-fleet.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const addons = "addons.cluster.x-k8s.io";
const [content, former] = [{ a: base64("now") }, { a: base64("before") }];
const namespaceSelector = { matchLabels: { fleet: "x" } };
const direct: Partial<FleetSecretSpec> = { clusterAPI: { namespaceSelector } };

const definition = (apiVersion: string, kind: string, plural: string) => {
  const [group, name] = apiVersion.split("/");
  return JSON.stringify({ spec: { group, names: { kind, plural }, versions: [{ name }] } });
};

/** An existing Secret, with the mark of the FleetSecret that placed it, if any. */
const secretIn = (namespace: string, name: string, owner?: string) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    name,
    namespace,
    ...(owner === undefined ? {} : { annotations: { [fleetOwnerAnnotation]: owner } }),
  },
  type: "Opaque",
  data: former,
});

type Pair = Readonly<{ fakes: FakeServer; home: Cluster; api: FakeApi }>;

/**
 * Creates this Secret in the cluster, and in the management cluster a namespace with the cluster's
 * kubeconfig.
 */
async function declared({ fakes, home }: Pair, secret: object): Promise<void> {
  await directly(fakes.api("east"), "someone").create(secretsIn("kube-system"), secret);
  const metadata = { name: "east", labels: namespaceSelector.matchLabels };
  await home.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata });
  await home.create(secretsIn("east"), {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "east-kubeconfig", namespace: "east" },
    data: { value: base64(fakes.kubeconfig("east")) },
  });
}

/** Creates the objects that `fleet join` creates in the management cluster. */
async function joined({ fakes, home }: Pair): Promise<void> {
  await directly(fakes.api("east"), "someone").create(
    secretsIn("kube-system"),
    secretIn("kube-system", "pull-secret", "lost/kube-system/one"),
  );
  const { clusters } = JSON.parse(fakes.kubeconfig("east")) as { clusters: { cluster: object }[] };
  const its = { name: "east", namespace: "clusters" };
  await home.create(clusterProfilesIn("clusters"), {
    apiVersion: clusterProfileVersion,
    kind: "ClusterProfile",
    metadata: its,
    spec: { clusterManager: { name: "a" } },
    status: { accessProviders: [{ name: "secretreader", cluster: clusters[0]?.cluster }] },
  });
  const data = { token: base64("t") };
  await home.create(secretsIn("clusters"), {
    apiVersion: "v1",
    kind: "Secret",
    metadata: its,
    data,
  });
}

/** Creates a Secret and a ClusterResourceSet without our mark, as a user's template would. */
async function delegated({ home }: Pair): Promise<void> {
  const metadata = { name: "east", labels: namespaceSelector.matchLabels };
  await home.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata });
  await home.create(secretsIn("east"), secretIn("east", "crs-pull-secret"));
  await home.create(clusterResourceSetsIn("east"), {
    apiVersion: `${addons}/v1beta2`,
    kind: "ClusterResourceSet",
    metadata: { name: "crs-pull-secret", namespace: "east" },
    spec: { strategy: "ApplyOnce" },
  });
}

const secret = `${secretsIn("kube-system")}/pull-secret`;
const inCluster = ({ fakes }: Pair) => fakes.api("east").object<V1Secret>(secret);
const beside = ({ api }: Pair) => api.object<V1Secret>(`${secretsIn("east")}/crs-pull-secret`);

const situations: readonly (readonly [
  what: string,
  make: (pair: Pair) => Promise<void>,
  spec: Partial<FleetSecretSpec>,
  there: typeof beside,
])[] = [
  [
    "from a former management cluster, as after clusterctl move",
    (pair) => declared(pair, secretIn("kube-system", "pull-secret", "former/kube-system/one")),
    direct,
    inCluster,
  ],
  [
    "that a ClusterResourceSet created in the cluster",
    (pair) => declared(pair, secretIn("kube-system", "pull-secret")),
    direct,
    inCluster,
  ],
  [
    "for a ClusterResourceSet in the management cluster",
    delegated,
    { ...direct, via: "ClusterResourceSet" },
    beside,
  ],
  [
    "in a joined cluster, from a lost management cluster",
    joined,
    { clusterProfiles: { namespaces: ["clusters"], selector: {}, clusterManagers: ["a"] } },
    inCluster,
  ],
];

/** Starts the management cluster, its one FleetSecret, and a controller that serves it. */
async function serve(make: (pair: Pair) => Promise<void>, spec: Partial<FleetSecretSpec>) {
  const fakes = await FakeServer.start();
  const api = new FakeApi();
  api.store.define(readFileSync("manifests/chart/files/fleetsecrets/fleetsecrets.yaml", "utf8"));
  api.store.define(definition(`${addons}/v1beta2`, "ClusterResourceSet", "clusterresourcesets"));
  api.store.define(definition(clusterProfileVersion, "ClusterProfile", "clusterprofiles"));
  const home = directly(api, "global-pull-secret-fleet");
  const metadata = { name: "kube-system" };
  await home.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata });
  const source = secretIn("kube-system", "source");
  await home.create(secretsIn("kube-system"), { ...source, data: content });
  const pair = { fakes, home, api };
  await make(pair);
  const objects = "/apis/globalpullsecret.io/v1alpha1/namespaces/kube-system/fleetsecrets";
  const object = {
    apiVersion: "globalpullsecret.io/v1alpha1",
    kind: "FleetSecret",
    metadata: { name: "one", namespace: "kube-system" },
    spec: { secretRef: { name: "source" }, target: { name: "pull-secret" }, ...spec },
  };
  await home.create(objects, object);
  const end = startFleets(home);
  const readFleetSecret = () => api.object<FleetSecret>(`${objects}/one`);
  return {
    pair,
    spec: () => readFleetSecret()?.spec,
    cluster: () => readFleetSecret()?.status?.clusters?.[0],
    adopt: () =>
      home.apply(
        `${objects}/one`,
        { ...object, spec: { ...object.spec, conflicts: "Adopt" } },
        { manager: "someone", force: true },
      ),
    async [Symbol.asyncDispose]() {
      await end();
      await fakes[Symbol.asyncDispose]();
    },
  };
}

for (const [what, make, spec, readSecret] of situations)
  test(`replaces an existing Secret only once spec.conflicts is Adopt: a Secret ${what}`, async () => {
    await using fleet = await serve(make, spec);
    const seen = () => JSON.stringify(fleet.cluster());
    await until("it is reported", () => fleet.cluster()?.reason?.startsWith("GPS435"), { seen });
    assert.equal(fleet.cluster()?.state, "Failed");
    assert.deepEqual(readSecret(fleet.pair)?.data, former);
    await fleet.adopt();
    const isOurs = () => {
      const { metadata, data } = readSecret(fleet.pair) ?? {};
      const mark = metadata?.annotations?.[fleetOwnerAnnotation] ?? "";
      return mark.endsWith("/kube-system/one") && data?.["a"] !== former.a;
    };
    await until("it is taken over", isOurs, { seen });
  });

test("by default, changes 10 % of the clusters at a time, tolerates 5 % of refusals, and is available with 90 % of the reachable clusters", async () => {
  await using fleet = await serve(async () => {}, direct);
  assert.deepEqual(fleet.spec()?.conflicts, "Refuse");
  const { maxUnavailable, maxFailures, minAvailable } = fleet.spec()?.rollout ?? {};
  assert.deepEqual([maxUnavailable, maxFailures, minAvailable], ["10%", "5%", "90%"]);
});
