/** Nodes that die at the worst moment: noticing that takes the node controller 50 s, so this is no test for every day. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import type { Node } from "../cluster/node.ts";
import { allAtOnce, auths, hostFirst } from "./nodes.ts";
import * as product from "./product.ts";

let cluster: Cluster;

before(async () => {
  cluster = await startCluster({ nodes: 3 });
  await product.installProduct(cluster, { args: allAtOnce });
});
after(() => cluster?.down());

test("H20: a node that dies as removal begins holds nothing up, is named, and is clean after the next life", async () => {
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  await product.untilServed(cluster, 1);
  const [host, dead, other] = (await hostFirst(cluster)) as [Node, Node, Node];
  const others = [host, other];

  dead.stop();
  await product.deleteAdditional(cluster);
  // The dead node's pod cannot go before its kubelet says so.
  const left = async () => (await product.ourObjects(cluster)).filter((name) => !name.startsWith("pod/"));
  const patience = { timeout: 180_000, seen: left };
  await until("nothing of ours is left in the cluster", async () => (await left()).length === 0, patience);
  const event = await product.untilEvent(cluster, "NodesLeftBehind", new RegExp(dead.name));
  assert.match(event.message, /1 node not Ready kept the entries/);
  for (const node of others) assert.equal(node.readFile("config.json"), undefined, node.name);
  assert.ok(cluster.registry.host in auths(dead));

  await dead.start();
  await cluster.untilReady(dead);
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  await until("it is published", async () => (await product.revision(cluster)) === 1);
  await product.untilServed(cluster, 1);
  await product.deleteAdditional(cluster);
  await product.untilRemoved(cluster);
  for (const node of cluster.nodes) assert.equal(node.readFile("config.json"), undefined, node.name);
});

test("H4: two of three nodes that die unnoticed as a rollout begins hold it up only until they are missed", async (context) => {
  await product.installProduct(cluster, { args: ["--max-unavailable=1", "--min-ready-seconds=3"] });
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  await product.untilServed(cluster, 1);
  const [host, ...dead] = (await hostFirst(cluster)) as [Node, Node, Node];
  for (const node of dead) node.stop();
  const begun = Date.now();
  await product.writeAdditional(cluster, JSON.stringify({ auths: { "second.example": { auth: "dTpw" } } }));
  const has = (node: Node): boolean => "second.example" in auths(node);
  await until("the living node has it", () => has(host), { timeout: 180_000 });
  context.diagnostic(`after ${Math.round((Date.now() - begun) / 1000)} s`);
  const event = await product.untilEvent(cluster, "RolledOut", /revision 2 is on 1 of 3 nodes/);
  for (const { name } of dead) assert.match(event.message, new RegExp(name));
  for (const node of dead) await node.start();
  for (const node of dead) await until(`${node.name} catches up`, () => has(node), { timeout: 180_000 });
  await product.untilServed(cluster, 2);
});
