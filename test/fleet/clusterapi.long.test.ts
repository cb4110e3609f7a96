/**
 * Delivers with a ClusterResourceSet. Cluster API's own manager, in the pinned version, applies it.
 * Both clusters have a real API server.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { stays, until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { document, pullSecret } from "../controller/plane.ts";
import { byHand, declareCluster, installAll, startManager } from "./clusterapi.ts";
import * as fleet from "./fleet.ts";
import { fleetSecret, labelled, untilState } from "./fleet.ts";

let home: fleet.Home;
let guest: Cluster;
let manager: Awaited<ReturnType<typeof startManager>>;

before(async () => {
  [home, guest] = await Promise.all([fleet.startHome(), startCluster({ nodes: 0 })]);
  await installAll(home.cluster);
  const component = join(import.meta.dirname, "../../manifests/fleet/cluster-resource-set");
  await home.cluster.kubectl("apply", "-f", join(component, "rendered.yaml"));
  manager = await startManager(home.cluster);
});
after(async () => {
  await manager?.[Symbol.asyncDispose]();
  home?.cluster.down();
  guest?.down();
});

type Delivered = Readonly<{ type: string; data: Readonly<Record<string, string>> }>;
const name = "guest-a";
const documentOf = (word: string) => document({ "quay.io": `robot:${word}` });
const source = (word: string) =>
  home.cluster.apply(pullSecret("source-pull-secret", documentOf(word)));
/** The content of the workload cluster's Secret `target`; undefined if it is not a pull secret. */
async function readTarget(target = "pull-secret"): Promise<string | undefined> {
  const secret = await guest.get<Delivered>("secret", target, "-n", "kube-system");
  if (secret?.type !== "kubernetes.io/dockerconfigjson") return undefined;
  return Buffer.from(secret.data[".dockerconfigjson"] ?? "", "base64").toString();
}
const delivered = (word: string, target?: string) =>
  until(`${word} is delivered`, async () => (await readTarget(target)) === documentOf(word), {
    timeout: 60_000,
    seen: () => manager.output().slice(-4000),
  });

test("K4, K5, K6, K9: delivers through Cluster API's own controller, follows a rotation, and accepts that controller as an owner of the Secret", async () => {
  // This transport overwrites another owner's Secret, as docs/extend/fleet.md states.
  await guest.apply(pullSecret("pull-secret", document({ "theirs.example": "a:b" })));
  await declareCluster({ home, guest, name, labels: labelled });
  await source("1");
  await home.cluster.apply(fleetSecret({ via: "ClusterResourceSet" }));
  await using controller = fleet.startFleet(home);
  await delivered("1");
  await untilState(home, name, "Done");
  await source("2");
  await delivered("2");
  const its = ["secret", "crs-pull-secret", "-n", name];
  const secret = await home.cluster.get<{ metadata: { ownerReferences?: { kind: string }[] } }>(
    ...its,
  );
  assert.equal(secret?.metadata.ownerReferences?.[0]?.kind, "ClusterResourceSet");
  // An edit in the workload cluster stays until the Secret in the management cluster changes,
  // although Cluster API's controller reconciles again.
  const edit = JSON.stringify({ data: { ".dockerconfigjson": "e30=" } });
  const secretArgs = ["secret", "pull-secret", "-n", "kube-system"];
  await guest.kubectl("patch", ...secretArgs, "--type=merge", "-p", edit);
  await home.cluster.kubectl("label", "clusters.cluster.x-k8s.io", name, "-n", name, "look=again");
  await stays("the edit is left as it is", async () => (await readTarget()) === "{}", 5000);
  await source("3");
  await delivered("3");
  await home.cluster.kubectl("delete", "fleetsecret", "pull-secret", "-n", "kube-system");
  assert.equal(await home.cluster.get(...its), undefined);
  // After the FleetSecret is deleted, the workload cluster keeps the delivered Secret.
  await stays(
    "the Secret is left there",
    async () => (await readTarget()) === documentOf("3"),
    3000,
  );
  assert.ok(!controller.output().includes("robot:"));
});

test("delivers the manifest of a hand-written ClusterResourceSet in the previous API version", async () => {
  const [other, target] = ["by-hand", "by-hand-pull-secret"];
  await declareCluster({ home, guest, name: other, labels: {} });
  const secret = pullSecret(target, documentOf("1"));
  await home.cluster.apply(
    {
      apiVersion: "v1",
      kind: "Secret",
      type: "addons.cluster.x-k8s.io/resource-set",
      metadata: { name: "crs-pull-secret", namespace: other },
      stringData: { "manifests.yaml": JSON.stringify(secret) },
    },
    byHand(other),
  );
  await delivered("1", target);
});
