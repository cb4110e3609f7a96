/**
 * Clusters and ClusterResourceSets with Cluster API's own CRDs. These tests write what Cluster
 * API's controller would write; clusterapi.long.test.ts runs this controller.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import type { KubernetesObject, V1Secret } from "@kubernetes/client-node";
import { fleetManagedBy } from "#contract/names.ts";
import { connect } from "#kube/client/client.ts";
import { loadKubeConfig } from "#kube/load.ts";
import { auditOf, isWrite } from "../cluster/audit.ts";
import { stays, until } from "../cluster/await.ts";
import { document, pullSecret } from "../controller/plane.ts";
import { byHand, installCrds } from "./clusterapi.ts";
import * as fleet from "./fleet.ts";
import { fleetSecret, labelled, untilPlaced, untilState } from "./fleet.ts";

const group = "addons.cluster.x-k8s.io";
let home: fleet.Home;
let guest: fleet.GuestCluster;
let controller: ReturnType<typeof fleet.startFleet> | undefined;

before(async () => {
  [home, guest] = await Promise.all([fleet.startHome(), fleet.startGuest()]);
  await installCrds(home.cluster, `${group}_clusterresourcesets`, "cluster.x-k8s.io_clusters");
  const component = join(import.meta.dirname, "../../manifests/fleet/cluster-resource-set");
  await home.cluster.kubectl("apply", "-f", join(component, "rendered.yaml"));
});
after(() => {
  for (const member of [home, guest]) member?.cluster.down();
});
afterEach(async () => {
  await controller?.[Symbol.asyncDispose]();
  controller = undefined;
  await fleet.clear(home, [guest]);
  const all = ["--all", "--all-namespaces"];
  await home.cluster.kubectl("delete", `clusterresourcesets.${group}`, ...all);
  await home.cluster.kubectl("delete", "clusters.cluster.x-k8s.io", ...all);
  const none = ["crs-pull-secret", "--ignore-not-found", "-n"];
  for (const guestName of ["guest-a", "guest-b", "guest-c"]) {
    await home.cluster.kubectl("delete", "secret", ...none, guestName);
    await namespace(guestName, {});
  }
});

const data = (word: string) =>
  Buffer.from(document({ "quay.io": `robot:${word}` })).toString("base64");
const source = (word: string) =>
  home.cluster.apply(pullSecret("source-pull-secret", document({ "quay.io": `robot:${word}` })));
const namespace = (name: string, labels: object) =>
  home.cluster.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });

const secretIn = (where: string) =>
  home.api.get<V1Secret>(`/api/v1/namespaces/${where}/secrets/crs-pull-secret`);
const setPath = (where: string, version = "v1beta2") =>
  `/apis/${group}/${version}/namespaces/${where}/clusterresourcesets/crs-pull-secret`;
type Set = KubernetesObject & Readonly<{ spec?: object }>;

/** The Secret that the manifest creates in the workload cluster. */
async function manifestIn(where: string): Promise<V1Secret> {
  const secret = await secretIn(where);
  const text = Buffer.from(secret?.data?.["manifests.yaml"] ?? "bnVsbA==", "base64").toString();
  return JSON.parse(text) as V1Secret;
}
const untilManifest = (where: string, word: string) =>
  until(
    `the manifest of ${where} contains ${word}`,
    async () => (await manifestIn(where))?.data?.[".dockerconfigjson"] === data(word),
    { seen: async () => [await fleet.objectIn(home), controller?.output()] },
  );

/** Writes the status of a ClusterResourceSet that Cluster API's controller has applied. */
async function applied(where: string): Promise<void> {
  const lastTransitionTime = new Date().toISOString();
  const condition = {
    type: "ResourcesApplied",
    status: "True",
    reason: "Applied",
    message: "",
    lastTransitionTime,
  };
  await until("the ClusterResourceSet exists", () => home.api.get(setPath(where)));
  const patch = JSON.stringify({ status: { conditions: [condition] } });
  const its = [`clusterresourcesets.${group}`, "crs-pull-secret", "-n", where];
  await home.cluster.kubectl("patch", ...its, "--subresource=status", "--type=merge", "-p", patch);
}

test("K3, K4, K5: writes the Secret and the ClusterResourceSet into each labelled namespace, and reports the limits of this transport in status", async () => {
  await namespace("guest-a", labelled);
  await namespace("guest-b", {});
  await namespace("guest-c", {});
  await source("1");
  await home.cluster.apply(fleetSecret({ via: "ClusterResourceSet" }));
  controller = fleet.startFleet(home);
  await untilManifest("guest-a", "1");
  assert.equal((await secretIn("guest-a"))?.type, `${group}/resource-set`);
  const { metadata, type } = await manifestIn("guest-a");
  assert.partialDeepStrictEqual(
    { metadata, type },
    {
      metadata: { name: "pull-secret", namespace: "kube-system" },
      type: "kubernetes.io/dockerconfigjson",
    },
  );
  // The canary does not have the Secret before Cluster API has applied it.
  await untilState(home, "guest-a", "Progressing", "GPS451");
  await namespace("guest-b", labelled);
  await untilState(home, "guest-b", "Waiting");
  assert.equal(await secretIn("guest-b"), undefined);
  await applied("guest-a");
  await untilManifest("guest-b", "1");
  for (const where of ["guest-a", "guest-b"]) {
    await applied(where);
    const { spec } = (await home.api.get<Set>(setPath(where, "v1beta1"))) ?? {};
    assert.deepEqual(spec, byHand(where).spec);
    await untilState(home, where, "Done");
  }
  assert.equal(await secretIn("guest-c"), undefined);
  const conditions = (await fleet.objectIn(home))?.status?.conditions;
  const warning = conditions?.find(({ type: conditionType }) => conditionType === "Warning");
  assert.equal(warning?.status, "True");
  assert.match(warning?.message ?? "", /nothing is proved, repaired or removed in the clusters/);
  await source("2");
  await untilManifest("guest-a", "2");
  await untilManifest("guest-b", "2");
});

test("repairs an edited Secret but keeps its owner reference from Cluster API, and deletes Secret and ClusterResourceSet when the label is removed", async () => {
  await namespace("guest-a", labelled);
  await source("1");
  await home.cluster.apply(
    fleetSecret({ via: "ClusterResourceSet", removal: { grace: "0s", deadline: "1h" } }),
  );
  controller = fleet.startFleet(home);
  await untilManifest("guest-a", "1");
  await applied("guest-a");
  await untilState(home, "guest-a", "Done");
  const since = new Date().toISOString();
  const set = await home.api.get<Set>(setPath("guest-a"));
  const { uid = "" } = set?.metadata ?? {};
  const owner = {
    apiVersion: `${group}/v1beta2`,
    kind: "ClusterResourceSet",
    name: "crs-pull-secret",
    uid,
  };
  const its = ["secret", "crs-pull-secret", "-n", "guest-a"];
  const owned = JSON.stringify({ metadata: { ownerReferences: [owner] } });
  await home.cluster.kubectl("patch", ...its, "--type=merge", "-p", owned);
  const written = () =>
    auditOf(home.cluster, { since }).filter(
      (request) =>
        request.user.endsWith(":global-pull-secret-fleet") &&
        isWrite(request) &&
        request.resource !== "leases",
    );
  await stays("the Secret is left as it is", () => written().length === 0, 3000);
  const edit = JSON.stringify({ data: { "manifests.yaml": "e30=", other: "e30=" } });
  await home.cluster.kubectl("patch", ...its, "--type=merge", "-p", edit);
  await untilManifest("guest-a", "1");
  const repaired = await secretIn("guest-a");
  assert.deepEqual(Object.keys(repaired?.data ?? {}), ["manifests.yaml"]);
  assert.equal(repaired?.metadata?.ownerReferences?.[0]?.uid, uid);
  await namespace("guest-a", {});
  await until(
    "both objects are gone",
    async () =>
      (await secretIn("guest-a")) === undefined &&
      (await home.api.get(setPath("guest-a"))) === undefined,
  );
});

test("reports and does not touch a hand-written ClusterResourceSet with the name that the controller would use, crs-pull-secret", async () => {
  await namespace("guest-a", labelled);
  await home.cluster.apply(byHand("guest-a"));
  const before = (await home.api.get<Set>(setPath("guest-a")))?.metadata?.resourceVersion;
  await source("1");
  await home.cluster.apply(fleetSecret({ via: "ClusterResourceSet" }));
  controller = fleet.startFleet(home);
  await untilState(home, "guest-a", "Failed", "GPS435");
  assert.equal((await home.api.get<Set>(setPath("guest-a")))?.metadata?.resourceVersion, before);
  assert.equal(await secretIn("guest-a"), undefined);
});

test("refuses metadata of other programs on both objects, whatever the request of the fleet's account", async () => {
  const account = connect(loadKubeConfig(home.kubeconfig), () => {});
  const { spec } = byHand("guest-a");
  const its = { name: "crs-pull-secret", namespace: "guest-a" };
  const secret = { apiVersion: "v1", kind: "Secret", type: `${group}/resource-set` };
  const objects = [
    [`/api/v1/namespaces/guest-a/secrets/${its.name}`, secret],
    [setPath("guest-a"), { apiVersion: `${group}/v1beta2`, kind: "ClusterResourceSet", spec }],
  ] as const;
  const how = { manager: "test", force: true, dryRun: true };
  const foreign = [
    { labels: { owner: "helm" } },
    { annotations: { "a.example/b": "c" } },
    { finalizers: ["a.example/held"] },
    { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "a", uid: "1" }] },
  ];
  await namespace("guest-a", {});
  const refusesAll = async (when: string): Promise<void> => {
    for (const [path, body] of objects)
      for (const more of foreign) {
        const asked = account.apply(path, { ...body, metadata: { ...its, ...more } }, how);
        const what = `${when}: ${body.kind} with ${JSON.stringify(more)}`;
        await assert.rejects(asked, { status: 422, isDenial: true }, what);
      }
  };
  await refusesAll("creates");
  for (const [path, body] of objects)
    await account.apply(path, { ...body, metadata: its }, { ...how, dryRun: false });
  await refusesAll("updates");
  for (const [path, body] of objects)
    await account.apply(path, { ...body, metadata: { ...its, labels: fleetManagedBy } }, how);
});

test("K12: with clusterNameLabelValue: Name, serves each Cluster of the selected namespaces under the Cluster's own name", async () => {
  await namespace("guest-a", labelled);
  const kubeconfig = Buffer.from(guest.kubeconfig).toString("base64");
  const its = { namespace: "guest-a", name: "east-kubeconfig" };
  await home.cluster.apply({
    apiVersion: "v1",
    kind: "Secret",
    type: "cluster.x-k8s.io/secret",
    metadata: its,
    data: { value: kubeconfig },
  });
  const clusterAPI = {
    namespaceSelector: { matchLabels: labelled },
    clusterNameLabelValue: "Name",
  } as const;
  await source("1");
  await home.cluster.apply(fleetSecret({ clusterAPI }));
  controller = fleet.startFleet(home);
  await until(
    "nothing is selected",
    async () => (await fleet.objectIn(home))?.status?.summary === "0/0",
  );
  for (const where of ["guest-a", "default"])
    await home.cluster.apply({
      apiVersion: "cluster.x-k8s.io/v1beta2",
      kind: "Cluster",
      metadata: { name: "east", namespace: where },
      spec: { infrastructureRef: { apiGroup: "x.example", kind: "X", name: "x" } },
    });
  await untilPlaced(guest, { ".dockerconfigjson": data("1") });
  await untilState(home, "guest-a:east", "Done");
  assert.equal((await fleet.objectIn(home))?.status?.counts?.selected, 1);
});

test("warns in status about an empty namespaceSelector, and refuses an absent one, or an empty one with via: ClusterResourceSet", async () => {
  const every = { namespaceSelector: {} };
  await assert.rejects(
    home.cluster.apply(fleetSecret({ clusterAPI: every, via: "ClusterResourceSet" })),
    /needs the namespaces of clusterAPI/,
  );
  await assert.rejects(
    home.cluster.apply(fleetSecret({ clusterAPI: {} as typeof every })),
    /namespaceSelector/,
  );
  await home.cluster.apply(fleetSecret({ clusterAPI: every }));
  controller = fleet.startFleet(home);
  await until("the warning is in status", async () => {
    const conditions = (await fleet.objectIn(home))?.status?.conditions;
    const warning = conditions?.find(({ type }) => type === "Warning");
    return warning?.status === "True" && warning.message?.includes("every namespace is selected");
  });
});
