/** Removal while a node dies: noticing that takes the node controller 50 s, so this is no test for every day. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as names from "../../pullsecret/names.ts";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { allAtOnce, auths } from "./nodes.ts";
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
  const selector = "app.kubernetes.io/name=global-pull-secret-controller";
  const path = "jsonpath={.items[0].spec.nodeName}";
  const host = await cluster.kubectl("get", "pods", "-n", names.namespace, "-l", selector, "-o", path);
  const [dead, ...others] = cluster.nodes.toSorted((a, b) => Number(a.name === host) - Number(b.name === host));
  assert.ok(dead);

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
