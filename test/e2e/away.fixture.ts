/** A node that goes away at the worst moment. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as names from "#contract/names.ts";
import { until } from "../cluster/await.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Node } from "../cluster/node.ts";
import { auths, hostFirst } from "./nodes.ts";
import * as product from "./product.ts";

/**
 * Needs a cluster of three nodes without additional-pull-secret. Deletes this Secret again at the
 * end.
 */
export function awayAtWithdrawal(on: () => Cluster): void {
  test("H20: waits only for a node that dies when the removal begins, and cleans this node when it returns", async () => {
    const cluster = on();
    await product.writeAdditional(cluster, cluster.registry.document("additional"));
    await product.untilServed(cluster);
    const [host, away, other] = (await hostFirst(cluster)) as [Node, Node, Node];
    const others = [host, other];

    away.stop();
    await product.deleteAdditional(cluster);
    const waits = async () => (await product.events(cluster, "NodesAwaited")).length > 0;
    await until("the removal waits for this node", waits, { timeout: 180_000 });
    const event = await product.untilEvent(
      cluster,
      "NodesAwaited",
      new RegExp(`for 1 node away: ${away.name};`),
    );
    assert.equal(event.type, "Warning");
    for (const node of others) assert.equal(node.readFile("config.json"), undefined, node.name);
    assert.ok(cluster.registry.host in auths(away));
    const secrets = await cluster.kubectl("get", "secrets", "-n", names.namespace, "-o", "json");
    assert.ok(
      !secrets.includes(Buffer.from(cluster.registry.document("additional")).toString("base64")),
    );

    await away.start();
    await cluster.untilReady(away);
    await product.untilRemoved(cluster);
    for (const node of cluster.nodes)
      assert.equal(node.readFile("config.json"), undefined, node.name);
  });
}
