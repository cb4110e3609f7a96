/**
 * Removal when much goes wrong: a controller that is killed twenty times, a kubelet that fails
 * without the credential.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as names from "#contract/names.ts";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { rolloutAndWithdrawalUnderKills, untouched } from "./kills.ts";
import { allAtOnce, auths } from "./nodes.ts";
import * as product from "./product.ts";

let cluster: Cluster;

before(async () => {
  cluster = await startCluster({ nodes: 4 });
  untouched(cluster);
  await product.installProduct(cluster, { wish: 1 });
});
after(() => cluster?.down());

test("H20, H21: a controller killed ten times in a rollout and ten times in a withdrawal comes to the same end", async (context) => {
  await rolloutAndWithdrawalUnderKills(cluster, 10, context);
});

test("H20: a kubelet that fails without the entries does not get them back; the removal is told, and finished by hand", async () => {
  const [stuck, ...others] = cluster.nodes;
  assert.ok(stuck);
  const { host } = cluster.registry;
  await product.installProduct(cluster, {
    wish: { rollout: { maxUnavailable: allAtOnce }, withdrawal: { deadline: "1m" } },
  });
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  await until("it is published", async () => (await product.revision(cluster)) === 1);
  await product.untilServed(cluster, 1);
  await stuck.breakKubelet(
    `[Service]\nExecStartPre=/bin/grep -q ${host} /var/lib/kubelet/config.json\n`,
  );
  await product.deleteAdditional(cluster);
  const said = new RegExp(`waiting for ${stuck.name};.*: to finish without them: kubectl (.*)$`);
  // The shortest deadline that may be set takes as long as a wait has by default.
  const overdue = { timeout: 180_000 };
  const event = await product.untilEvent(cluster, "RemovalOverdue", said, overdue);
  // Its kubelet is down, and can report nothing of its agent's.
  const halted = new RegExp(`revision 2 stopped at 1 node: ${stuck.name}: agent not available`);
  await product.untilEvent(cluster, "RolloutHalted", halted);
  for (const node of cluster.nodes) assert.ok(!(host in auths(node)), node.name);
  for (const node of others) assert.equal(await cluster.readiness(node), "True");
  const [, command = ""] = said.exec(event.message) ?? [];
  await cluster.kubectl(...command.split(" "));
  const its = ["daemonset", names.agentName, "-n", names.namespace];
  await until("the objects are gone", async () => (await cluster.get(...its)) === undefined);
  await stuck.healKubelet();
  await cluster.untilReady(stuck);
  await product.untilRemoved(cluster);
  assert.ok(!(host in auths(stuck)));
});
