/**
 * Rolls out and removes a pull secret, and stops the API server at one of the stages in between.
 */
import assert from "node:assert/strict";
import { grantOf } from "#contract/grant.ts";
import * as names from "#contract/names.ts";
import { auditOf, isWrite } from "../cluster/audit.ts";
import { stays, until } from "../cluster/await.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { auths } from "./nodes.ts";
import * as product from "./product.ts";
import { mostAtOnce, restarts } from "./restarts.ts";

export const stages = ["birth", "canary", "wave", "withdrawal"] as const;
export type OutageStage = (typeof stages)[number];

/**
 * Milliseconds for which a kubelet must be healthy before the next node gets a grant. This is the
 * smallest value that `rollout.probation` allows.
 */
const probation = 3000;

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
 * Asserts that every kubelet is restarted exactly once for the rollout and once for the removal.
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
  await product.untilServed(cluster, 1);
  await product.untilEvent(cluster, "RolledOut", /revision 1 is on/);
  assert.deepEqual(await starts(cluster), since(1), "every kubelet was restarted once");
  for (const node of cluster.nodes)
    assert.deepEqual(auths(node)[cluster.registry.host], cluster.registry.auth("additional"));
  await oneAfterTheOther(cluster, begun);

  const removal = Date.now();
  await product.deleteAdditional(cluster);
  if (stage === "withdrawal") await outage(cluster, stage, seconds);
  await product.untilRemoved(cluster);
  for (const node of cluster.nodes) assert.equal(node.readFile("config.json"), undefined);
  assert.deepEqual(await starts(cluster), since(2), "and once more for the removal");
  await oneAfterTheOther(cluster, removal);
  await cluster.kubectl("delete", "events", "-n", names.namespace, "--all");
}

/**
 * Fails if two nodes were restarted together. The error lists the restarts and all writes to
 * agents' pods and to the DaemonSet since `begun`.
 */
async function oneAfterTheOther(cluster: Cluster, begun: number): Promise<void> {
  const all = await restarts(cluster, begun);
  if (mostAtOnce(all, probation) === 1) return;
  const written = auditOf(cluster, { since: new Date(begun).toISOString() })
    .filter((request) => isWrite(request) && request.name.startsWith(names.agentName))
    .filter(({ resource }) => resource === "pods" || resource === "daemonsets")
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
  const pods = await agentPods(cluster);
  const revisions = pods.map(({ metadata }) => grantOf(metadata.annotations)?.revision ?? 0);
  const highest = Math.max(0, ...revisions);
  if (highest > 1) return "withdrawal";
  if (highest === 0) return pods.length > 0 ? "birth" : undefined;
  return revisions.includes(0) ? "canary" : "wave";
}

type Pods = Readonly<{ items: { metadata: { annotations?: Record<string, string> } }[] }>;

async function agentPods(cluster: Cluster): Promise<Pods["items"]> {
  const selected = ["-n", names.namespace, "-l", `name=${names.agentName}`];
  return (await cluster.get<Pods>("pods", ...selected))?.items ?? [];
}
