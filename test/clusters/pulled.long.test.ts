/**
 * Applies a Deployment to a cluster of two real nodes with `fleet apply`, then switches one node
 * off.
 */
import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import type { V1Pod } from "@kubernetes/client-node";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { freshBundle } from "#tools/build/bundle.ts";
import { personWith, type Person } from "./clusters.ts";
import { installCrd } from "./inventory.ts";

const root = join(import.meta.dirname, "../..");
const space = { namespace: "web" };

let cluster: Cluster | undefined;
let person: Person | undefined;
after(() => {
  cluster?.down();
  if (person !== undefined) rmSync(person.folder, { recursive: true });
});

/** A Deployment with a private image, a pull secret, and 30 s of tolerance for absent nodes. */
const work = (image: string, document: string) => [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: "web" } },
  {
    apiVersion: "v1",
    kind: "Secret",
    type: "kubernetes.io/dockerconfigjson",
    metadata: { name: "regcred", ...space },
    data: { ".dockerconfigjson": Buffer.from(document).toString("base64") },
  },
  {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", ...space },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: {
          imagePullSecrets: [{ name: "regcred" }],
          containers: [{ name: "web", image }],
          tolerations: ["not-ready", "unreachable"].map((state) => ({
            key: `node.kubernetes.io/${state}`,
            operator: "Exists",
            effect: "NoExecute",
            tolerationSeconds: 30,
          })),
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: "kubernetes.io/hostname",
              whenUnsatisfiable: "ScheduleAnyway",
              labelSelector: { matchLabels: { app: "web" } },
            },
          ],
        },
      },
    },
  },
];

test("M5: runs three replicas of a private image on two nodes, and on one node after the other node is switched off", async () => {
  await freshBundle();
  cluster = await startCluster({ nodes: 2 });
  await installCrd(cluster);
  await cluster.kubectl("apply", "-k", join(root, "manifests/fleet"));
  const image = await cluster.pushApp("team/web:1");
  person = personWith({ host: cluster });
  await person.ok("fleet join here --context host");
  mkdirSync(join(person.folder, "work"));
  for (const [at, one] of work(image, cluster.registry.document("additional")).entries())
    writeFileSync(join(person.folder, "work", `${at}.json`), JSON.stringify(one));
  await person.ok("fleet apply -f work");
  const [first, second] = cluster.nodes;
  assert.ok(first && second);
  const on = async () => {
    const pods = await cluster?.get<{ items: V1Pod[] }>("pods", "-n", "web", "-l", "app=web");
    const running = (pods?.items ?? []).filter(
      ({ metadata, status }) =>
        metadata?.deletionTimestamp === undefined && status?.phase === "Running",
    );
    return running.map(({ spec }) => spec?.nodeName ?? "");
  };
  await until(
    "three pods run, on both nodes",
    async () => {
      const nodes = await on();
      return nodes.length === 3 && new Set(nodes).size === 2;
    },
    { timeout: 180_000, seen: on },
  );
  first.stop();
  const pulled = performance.now();
  await until(
    "three pods run on the remaining node",
    async () => {
      const nodes = await on();
      return nodes.length === 3 && nodes.every((name) => name === second.name);
    },
    { timeout: 240_000, seen: on },
  );
  // The pods move only after their 30 s of tolerance. This time begins when the API reports the
  // node as away.
  assert.ok(performance.now() - pulled > 30_000);
});
