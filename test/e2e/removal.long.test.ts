/**
 * Removal when much goes wrong: a controller that is killed twenty times, a kubelet that fails
 * without the credential.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
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

test("H20: a kubelet that fails with its old file keeps the entries, and the removal is told and finished by hand", async () => {
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
  const event = await product.untilEvent(cluster, "RemovalOverdue", said);
  await product.untilEvent(
    cluster,
    "RolloutHalted",
    new RegExp(`revision 2 stopped at 1 node: ${stuck.name}: GPS218`),
  );
  for (const node of others) assert.ok(!(host in auths(node)), node.name);
  assert.ok(host in auths(stuck));
  await cluster.untilReady(stuck);
  const [, command = ""] = said.exec(event.message) ?? [];
  await cluster.kubectl(...command.split(" "));
  await product.untilRemoved(cluster);
});
