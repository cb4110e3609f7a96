/**
 * Nodes that are unreachable, gone, cordoned or without a network do not delay the living nodes.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import type { Node } from "../cluster/node.ts";
import { agents, allAtOnce, auths, hostFirst } from "./nodes.ts";
import * as product from "./product.ts";
import { mostAtOnce, restarts } from "./restarts.ts";

let cluster: Cluster;
/** The controller runs on the first node, so this node must stay alive. */
let nodes: Node[];

before(async () => {
  cluster = await startCluster({ nodes: 5, missedAfter: 30 });
  await product.installProduct(cluster, { settings: allAtOnce });
  await product.writeAdditional(cluster, product.documentOf(cluster, "first"));
  await product.untilServed(cluster);
  await product.installProduct(cluster, { settings: 1 });
  nodes = await hostFirst(cluster);
});
after(() => cluster?.down());

function at(index: number): Node {
  const node = nodes[index];
  assert.ok(node);
  return node;
}

const has = (node: Node, place: string): boolean =>
  Object.keys(auths(node)).includes(`${cluster.registry.host}/${place}`);

/** Waits until the API reports this status of a node's Ready condition. */
async function untilCondition(node: Node, status: "Unknown" | "False"): Promise<void> {
  const seen = (): Promise<string | undefined> => cluster.readiness(node);
  await until(`${node.name} is Ready=${status}`, async () => (await seen()) === status, {
    timeout: 120_000,
    seen,
  });
}

test("H4: serves cordoned, tainted and networkless nodes one by one while another node is unreachable", async (context) => {
  const [host, tainted, without, dead, forgotten] = [at(0), at(1), at(2), at(3), at(4)];
  for (const node of [dead, forgotten]) node.stop();
  await cluster.kubectl("delete", "node", forgotten.name);
  await untilCondition(dead, "Unknown");
  await cluster.kubectl("cordon", host.name);
  await cluster.kubectl("taint", "node", tainted.name, "away=now:NoExecute");
  await without.exec(["rm", "/etc/cni/net.d/10-ptp.conflist"]);
  await untilCondition(without, "False");

  const since = Date.now();
  await product.writeAdditional(cluster, product.documentOf(cluster, "second"));
  // Three nodes one after another take 40 s on an idle machine. The timeout is longer, because the
  // machine can be busy.
  const event = await product.untilEvent(cluster, "RolledOut", /is on 3 of 4 nodes/, {
    timeout: 180_000,
  });
  // `forgotten` is not among these 4 nodes, because its Node object was deleted.
  assert.match(event.message, new RegExp(`is on 3 of 4 nodes .*without it: ${dead.name}$`));
  for (const node of [host, tainted, without]) assert.ok(has(node, "second"), node.name);
  for (const node of [dead, forgotten]) assert.ok(has(node, "first"), node.name);

  const all = await restarts(cluster, since);
  assert.deepEqual(
    all.map(({ node }) => node).toSorted(),
    [host, tainted, without].map(({ name }) => name).toSorted(),
  );
  assert.equal(mostAtOnce(all, 3000), 1, JSON.stringify(all));
  context.diagnostic(
    `restarts after ${all.map(({ down }) => `${((down - since) / 1000).toFixed(1)} s`).join(", ")}`,
  );
});

test("H4: serves an unreachable node when it returns", async () => {
  const dead = at(3);
  await dead.start();
  await until(`${dead.name} has the entry`, () => has(dead, "second"), {
    timeout: 120_000,
    seen: async () => [
      await dead.unit(["ActiveState", "SubState", "NRestarts"]),
      (await agents(cluster)).filter(({ spec }) => spec.nodeName === dead.name),
    ],
  });
  const served = await product.untilServed(cluster);
  const since = Date.now();
  await product.writeAdditional(cluster, product.documentOf(cluster, "third"));
  await product.untilServed(cluster, served);
  const all = await restarts(cluster, since);
  assert.equal(all.length, 4);
  assert.equal(mostAtOnce(all, 3000), 1, JSON.stringify(all));
});
