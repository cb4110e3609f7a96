/**
 * Rolls out and removes a pull secret, and stops the API server at one of the stages in between.
 */
import assert from "node:assert/strict";
import type { V1Secret } from "@kubernetes/client-node";
import type { NodePullSecret } from "#api/node-pull-secret.ts";
import * as names from "#contract/names.ts";
import { auditOf, isWrite } from "../cluster/audit.ts";
import { stays, until } from "../cluster/await.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { auths } from "./nodes.ts";
import * as product from "./product.ts";
import { mostAtOnce, restarts } from "./restarts.ts";

export const stages = ["birth", "first", "wave", "withdrawal"] as const;
export type OutageStage = (typeof stages)[number];

/**
 * Milliseconds for which a kubelet must be healthy before the next node is asked. This is the
 * smallest value that `rollout.probation` allows.
 */
const probation = 3000;

const kubeSystem = ["-n", names.namespace] as const;

/**
 * For each node, how often systemd has started the kubelet so far. Counts only lines of systemd,
 * because the kubelet also logs "Started kubelet".
 */
export async function starts(cluster: Cluster): Promise<number[]> {
  return await Promise.all(
    cluster.nodes.map(
      async (node) => (await node.journal()).match(/systemd\[1\]: Started /g)?.length ?? 0,
    ),
  );
}

/**
 * Rolls out and removes a pull secret while the API server is away for some seconds at `stage`.
 * Asserts that every kubelet is restarted exactly once for the rollout and never for the removal.
 */
export async function outlives(
  cluster: Cluster,
  stage: OutageStage,
  seconds: number,
): Promise<void> {
  const begun = Date.now();
  const before = await starts(cluster);
  const since = (more: number) => before.map((count) => count + more);
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  if (stage !== "withdrawal") await outage(cluster, stage, seconds);
  await product.untilServed(cluster);
  // Not the Event: a new leader that finds the rollout ended sends none.
  await product.rolledOut(cluster);
  assert.deepEqual(await starts(cluster), since(1), "every kubelet was restarted once");
  for (const node of cluster.nodes)
    assert.deepEqual(auths(node)[cluster.registry.host], cluster.registry.auth("additional"));
  await oneAfterTheOther(cluster, begun);

  await product.deleteAdditional(cluster);
  if (stage === "withdrawal") await outage(cluster, stage, seconds);
  await product.untilRemoved(cluster);
  for (const node of cluster.nodes) assert.equal(node.readFile("config.json"), undefined);
  assert.deepEqual(await starts(cluster), since(1), "the removal restarts no kubelet");
  await cluster.kubectl("delete", "events", "-n", names.namespace, "--all");
}

/**
 * Fails if two nodes were restarted together. The error lists the restarts and all writes to
 * NodePullSecrets and to the DaemonSet since `begun`.
 */
async function oneAfterTheOther(cluster: Cluster, begun: number): Promise<void> {
  const all = await restarts(cluster, begun);
  if (mostAtOnce(all, probation) === 1) return;
  const written = auditOf(cluster, { since: new Date(begun).toISOString() })
    .filter((request) => isWrite(request))
    .filter(({ resource }) => resource === "nodepullsecrets" || resource === "daemonsets")
    .map(({ at, user, verb, resource, subresource, name }) =>
      [at, user, verb, `${resource}/${subresource}`, name].join(" "),
    );
  assert.fail(
    ["the nodes were not restarted one after another", JSON.stringify(all), ...written].join("\n"),
  );
}

/** Stops the API server at the stage, for this number of seconds. */
async function outage(cluster: Cluster, stage: OutageStage, seconds: number): Promise<void> {
  await until(`the rollout is at its ${stage}`, async () => (await stageOf(cluster)) === stage, {
    seen: () => stageOf(cluster),
  });
  await cluster.stopApiServer();
  const isAway = () =>
    cluster.kubectl("get", "--raw", "/livez").then(
      () => false,
      () => true,
    );
  await stays("the API server is away", isAway, seconds * 1000, 1000);
  await cluster.startApiServer();
}

async function stageOf(cluster: Cluster): Promise<string | undefined> {
  const list = await cluster.get<{ items: NodePullSecret[] }>("nodepullsecrets", ...kubeSystem);
  const objects = list?.items ?? [];
  const secret = await cluster.get<V1Secret>("secret", names.globalSecretName, ...kubeSystem);
  const intent = Buffer.from(secret?.data?.[names.secretKeys.intent] ?? "", "base64").toString();
  if (intent === "release") return "withdrawal";
  const asked = objects.filter(({ spec }) => spec.attempt > 0).length;
  if (asked === 0) return objects.length > 0 ? "birth" : undefined;
  return asked === 1 ? "first" : "wave";
}
