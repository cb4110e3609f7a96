/** One whole life of a pull secret, during which the API server goes away at one stage. */
import assert from "node:assert/strict";
import * as names from "../../pullsecret/names.ts";
import { stays, until } from "../cluster/await.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Node } from "../cluster/node.ts";
import { auths } from "./nodes.ts";
import * as product from "./product.ts";

export const stages = ["birth", "canary", "wave", "drain"] as const;
export type Stage = (typeof stages)[number];

/** How often systemd started a node's kubelet so far. The kubelet itself says "Started kubelet" as well. */
export async function starts(cluster: Cluster): Promise<number[]> {
  return await Promise.all(
    cluster.nodes.map(async (node) => (await node.journal()).match(/systemd\[1\]: Started /g)?.length ?? 0),
  );
}

/** Stops the API server at the stage, for so many seconds; asserts that nothing is lost or done twice. */
export async function outlives(cluster: Cluster, stage: Stage, seconds: number): Promise<void> {
  const before = await starts(cluster);
  const since = (more: number) => before.map((count) => count + more);
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  if (stage !== "drain") await outage(cluster, stage, seconds);
  await product.untilServed(cluster, 1);
  await product.untilEvent(cluster, "RolledOut", /revision 1 is on/);
  assert.deepEqual(await starts(cluster), since(1), "every kubelet was restarted once");
  for (const node of cluster.nodes)
    assert.deepEqual(auths(node)[cluster.registry.host], cluster.registry.auth("additional"));
  await neverTogether(cluster.nodes);

  await product.deleteAdditional(cluster);
  if (stage === "drain") await outage(cluster, stage, seconds);
  await product.untilRemoved(cluster);
  for (const node of cluster.nodes) assert.equal(node.readFile("config.json"), undefined);
  assert.deepEqual(await starts(cluster), since(2), "and once more for the removal");
  await neverTogether(cluster.nodes);
  await cluster.kubectl("delete", "events", "-n", names.namespace, "--all");
}

async function outage(cluster: Cluster, stage: Stage, seconds: number): Promise<void> {
  await until(`the rollout is at its ${stage}`, async () => (await stageOf(cluster)) === stage, {
    seen: () => stageOf(cluster),
  });
  await cluster.stopApiServer();
  await stays("the API server is away", () => true, seconds * 1000);
  await cluster.startApiServer();
}

type DaemonSet = {
  metadata: { annotations: Record<string, string> };
  spec: { template: { metadata: { annotations: Record<string, string> } } };
};

async function stageOf(cluster: Cluster): Promise<string | undefined> {
  const found = await cluster.get<DaemonSet>("daemonset", names.syncerName, "-n", names.namespace);
  const revision = Number(found?.spec.template.metadata.annotations[names.revisionAnnotation]);
  if (revision > 1) return "drain";
  return revision === 0 ? "birth" : found?.metadata.annotations["global-pull-secret/stage"];
}

/** From systemd's own times: between a kubelet's stop and its next start no other one was down. */
async function neverTogether(nodes: readonly Node[]): Promise<void> {
  const gaps = await Promise.all(nodes.map(downTimes));
  const all = gaps.flat().toSorted((a, b) => (a.from < b.from ? -1 : 1));
  for (const [index, gap] of all.entries()) {
    const next = all[index + 1];
    assert.ok(
      next === undefined || next.node === gap.node || next.from >= gap.to,
      `${gap.node} and ${next?.node} were down together at ${next?.from}`,
    );
  }
}

async function downTimes(node: Node): Promise<{ node: string; from: string; to: string }[]> {
  const lines = (await node.journal()).split("\n");
  const gaps: { node: string; from: string; to: string }[] = [];
  let from: string | undefined;
  for (const line of lines) {
    const [time = ""] = line.split(" ");
    if (/systemd\[1\]: Stopping /.test(line)) from = time;
    if (from !== undefined && /systemd\[1\]: Started /.test(line)) {
      gaps.push({ node: node.name, from, to: time });
      from = undefined;
    }
  }
  return gaps;
}
