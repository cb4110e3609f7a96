/** A controller that is killed repeatedly, at random moments of a rollout and of a withdrawal. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import * as names from "#contract/names.ts";
import { until } from "../cluster/await.ts";
import { auditOf } from "../cluster/audit.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { seeded, type Random } from "../random.ts";
import { controllerAccount } from "./audit.ts";
import { freeLease, leader } from "./leader.ts";
import { auths } from "./nodes.ts";
import * as product from "./product.ts";
import { mostAtOnce, restarts } from "./restarts.ts";

/** Another program's file, in its own formatting. */
const others = '{ "auths": {\n"elsewhere.example": {"auth": "c29tZWJvZHk6ZWxzZQ=="} } }\n';

/** Writes another program's config.json on the first node. The other nodes have no such file. */
export function untouched(cluster: Cluster): void {
  cluster.nodes[0]?.writeFile("config.json", others);
}

/**
 * Needs a controller with maxUnavailable 1, and a cluster without additional-pull-secret. Deletes
 * this Secret again at the end.
 */
export async function rolloutAndWithdrawalUnderKills(
  cluster: Cluster,
  kills: number,
  context: TestContext,
): Promise<void> {
  const random = seeded(context);
  const since = Date.now();

  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  const served = async () => (await product.events(cluster, "RolledOut")).length > 0;
  const inRollout = await killAtRandom(cluster, kills, random, served);
  await until(
    "the Secret is published",
    async () => (await product.revision(cluster)) !== undefined,
  );
  await product.untilServed(cluster);
  const rollout = await restarts(cluster, since);
  for (const node of cluster.nodes)
    assert.ok(Object.keys(auths(node)).includes(cluster.registry.host), node.name);

  const withdrawalSince = Date.now();
  await product.deleteAdditional(cluster);
  const removed = async () => (await product.events(cluster, "Removed")).length > 0;
  const inWithdrawal = await killAtRandom(cluster, kills, random, removed);
  await product.untilRemoved(cluster);
  context.diagnostic(
    `of ${kills} kills each, ${inRollout} came before the rollout's end and ${inWithdrawal} before the withdrawal's`,
  );
  for (const [index, node] of cluster.nodes.entries()) {
    assert.equal(
      node.readFile("config.json")?.toString(),
      index === 0 ? others : undefined,
      node.name,
    );
    assert.equal(node.readFile("global-pull-secret/journal.json"), undefined);
  }

  const everyNode = cluster.nodes.map(({ name }) => name).toSorted();
  assert.deepEqual(rollout.map(({ node }) => node).toSorted(), everyNode, "one restart each");
  assert.equal(mostAtOnce(rollout, 3000), 1, JSON.stringify(rollout));
  assert.deepEqual(await restarts(cluster, withdrawalSince), [], "a withdrawal restarts nothing");
  const deleted = deletions(cluster, withdrawalSince);
  assert.deepEqual(
    deleted.map(({ resource }) => resource),
    [
      "daemonsets",
      "rolebindings",
      "roles",
      "serviceaccounts",
      ...everyNode.map(() => "nodepullsecrets"),
      "secrets",
      "secrets",
    ],
  );
}

/**
 * Kills the leading controller with SIGKILL, so that it cannot finish or clean up anything. Then
 * deletes this controller's pod and the Lease, so that the next controller waits neither for a
 * back-off nor until the Lease expires. Returns the number of kills before `isOver` was true.
 */
async function killAtRandom(
  cluster: Cluster,
  kills: number,
  random: Random,
  isOver: () => Promise<boolean>,
): Promise<number> {
  let early = 0;
  for (let kill = 0; kill < kills; kill++) {
    const { name, host } = await leader(cluster);
    const life = random.fraction() * 4000;
    const begun = Date.now();
    await until("it is time for the kill", () => Date.now() - begun >= life, { every: 20 });
    if (!(await isOver())) early += 1;
    const node = cluster.nodes.find((candidate) => candidate.name === host);
    const search =
      "kill -KILL $(grep -l '/app/controller[.]cjs' /proc/[0-9]*/cmdline | cut -d/ -f3)";
    await node?.exec(["sh", "-c", search]);
    await cluster.kubectl(
      "delete",
      "pod",
      name,
      "-n",
      names.namespace,
      "--grace-period=0",
      "--force",
    );
    await freeLease(cluster);
  }
  await leader(cluster);
  return early;
}

/** The objects that the controller deleted, in order, from the API server's audit log. */
function deletions(cluster: Cluster, since: number): { resource: string; at: number }[] {
  return auditOf(cluster, { since: new Date(since).toISOString() })
    .filter(
      ({ verb, user, code }) => verb === "delete" && user === controllerAccount && code === 200,
    )
    .map(({ resource, at }) => ({ resource, at: Date.parse(at) }))
    .toSorted((a, b) => a.at - b.at);
}
