/** One whole life of a pull secret, during which the API server goes away at one stage. */
import assert from "node:assert/strict";
import * as names from "#contract/names.ts";
import { auditOf, isWrite } from "../cluster/audit.ts";
import { stays, until } from "../cluster/await.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { auths } from "./nodes.ts";
import * as product from "./product.ts";
import { mostAtOnce, restarts } from "./restarts.ts";

/**
 * Seconds without an API server after which nodes may have been missed. What the node controller
 * then marks in mid-rollout the DaemonSet controller replaces beside the budget
 * (docs/decisions/0047).
 */
const missed = 30;

export const stages = ["birth", "canary", "wave", "withdrawal"] as const;
export type OutageStage = (typeof stages)[number];

/**
 * Milliseconds for which a kubelet must be well before the next one's turn: what the product is
 * installed with, at least.
 */
const probation = 3000;

/**
 * How often systemd started a node's kubelet so far. The kubelet itself says "Started kubelet" as
 * well.
 */
export async function starts(cluster: Cluster): Promise<number[]> {
  return await Promise.all(
    cluster.nodes.map(
      async (node) => (await node.journal()).match(/systemd\[1\]: Started /g)?.length ?? 0,
    ),
  );
}

/**
 * Stops the API server at the stage, for so many seconds; asserts that nothing is lost or done
 * twice.
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
  let back = 0;
  if (stage !== "withdrawal") back = await outage(cluster, stage, seconds);
  await product.untilServed(cluster, 1);
  await product.untilEvent(cluster, "RolledOut", /revision 1 is on/);
  assert.deepEqual(await starts(cluster), since(1), "every kubelet was restarted once");
  for (const node of cluster.nodes)
    assert.deepEqual(auths(node)[cluster.registry.host], cluster.registry.auth("additional"));
  const isMarked = seconds >= missed;
  if (stage === "birth" || stage === "withdrawal" || !isMarked)
    await oneAfterTheOther(cluster, begun);
  if (stage === "birth" && isMarked) await settles(cluster, back);

  const removal = Date.now();
  await product.deleteAdditional(cluster);
  if (stage === "withdrawal") await outage(cluster, stage, seconds);
  await product.untilRemoved(cluster);
  for (const node of cluster.nodes) assert.equal(node.readFile("config.json"), undefined);
  assert.deepEqual(await starts(cluster), since(2), "and once more for the removal");
  if (stage !== "withdrawal" || !isMarked) await oneAfterTheOther(cluster, removal);
  await cluster.kubectl("delete", "events", "-n", names.namespace, "--all");
}

/** Fails with the restarts, and with who wrote agents' pods and the DaemonSet meanwhile. */
async function oneAfterTheOther(cluster: Cluster, begun: number): Promise<void> {
  const all = await restarts(cluster, begun);
  if (mostAtOnce(all, probation) === 1) return;
  const written = auditOf(cluster, { since: new Date(begun).toISOString() })
    .filter((one) => isWrite(one) && one.name.startsWith(names.agentName))
    .filter(({ resource }) => resource === "pods" || resource === "daemonsets")
    .map(({ at, user, verb, resource, subresource, name }) =>
      [at, user, verb, `${resource}/${subresource}`, name].join(" "),
    );
  assert.fail(["not one node after the other", JSON.stringify(all), ...written].join("\n"));
}

/** Fails where a kubelet was restarted before kubelets and controllers had time to watch again. */
async function settles(cluster: Cluster, back: number): Promise<void> {
  const [first] = await restarts(cluster, back);
  assert.ok(first && first.down - back >= 75_000, `${first?.down} after ${back}`);
}

/** Stops the API server at the stage, for so many seconds; when it is back, in milliseconds. */
async function outage(cluster: Cluster, stage: OutageStage, seconds: number): Promise<number> {
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
  const back = Date.now();
  await cluster.startApiServer();
  return back;
}

type DaemonSet = {
  metadata: { annotations: Record<string, string> };
  spec: { template: { metadata: { annotations: Record<string, string> } } };
};

async function stageOf(cluster: Cluster): Promise<string | undefined> {
  const found = await cluster.get<DaemonSet>("daemonset", names.agentName, "-n", names.namespace);
  const revision = Number(found?.spec.template.metadata.annotations[names.revisionAnnotation]);
  if (revision > 1) return "withdrawal";
  return revision === 0 ? "birth" : found?.metadata.annotations["globalpullsecret.io/stage"];
}
