/**
 * A ClusterResourceSet by Cluster API's own controller: its manager of the pinned version, real,
 * beside two API servers.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { document, pullSecret } from "../controller/plane.ts";
import { declareCluster, installAll, startManager } from "./clusterapi.ts";
import * as fleet from "./fleet.ts";
import { fleetSecret, labelled, untilState } from "./fleet.ts";

let home: fleet.Home;
let guest: Cluster;
let manager: Awaited<ReturnType<typeof startManager>>;

before(async () => {
  [home, guest] = await Promise.all([fleet.startHome(), startCluster({ nodes: 0 })]);
  await installAll(home.cluster);
  const component = join(import.meta.dirname, "../../manifests/fleet/cluster-resource-set");
  const files = ["policy", "policy-binding", "clusterrole", "clusterrolebinding"];
  for (const file of files.map((one) => `${one}.yaml`))
    await home.cluster.kubectl("apply", "-f", join(component, file));
  manager = await startManager(home.cluster);
});
after(async () => {
  await manager?.[Symbol.asyncDispose]();
  home?.cluster.down();
  guest?.down();
});

type Delivered = Readonly<{ type: string; data: Readonly<Record<string, string>> }>;
const name = "guest-a";
const source = (word: string) =>
  home.cluster.apply(pullSecret("source-pull-secret", document({ "quay.io": `robot:${word}` })));
const delivered = (word: string) =>
  until(
    `${word} is delivered`,
    async () => {
      const found = await guest.get<Delivered>("secret", "pull-secret", "-n", "kube-system");
      const text = Buffer.from(found?.data[".dockerconfigjson"] ?? "", "base64").toString();
      return (
        found?.type === "kubernetes.io/dockerconfigjson" &&
        text === document({ "quay.io": `robot:${word}` })
      );
    },
    { timeout: 60_000, seen: () => manager.output().slice(-4000) },
  );

test("K4, K5, K6, K9: Cluster API's own controller delivers what the object keeps beside the Cluster, follows a rotation, and its owner on the Secret is left alone", async () => {
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
  await home.cluster.kubectl("delete", "fleetsecret", "pull-secret", "-n", "kube-system");
  assert.equal(await home.cluster.get(...its), undefined);
  assert.ok(!controller.output().includes("robot:"));
});
