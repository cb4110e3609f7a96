/**
 * Nodes that die at the worst moment. The node controller reports a dead node only after 50 s, so
 * these tests do not run every day.
 */
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
  await product.installProduct(cluster, { settings: allAtOnce });
});
after(() => cluster?.down());

test("lets the other controller publish within a minute when the leader's node is switched off, and delays no running node", async (context) => {
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  const before = await product.untilServed(cluster);
  const [host, ...others] = (await hostFirst(cluster)) as [Node, Node, Node];
  const begun = Date.now();
  host.stop();
  await writeEntry("pulled.example");
  await until(
    "the change is published",
    async () => ((await product.revision(cluster)) ?? 0) > before,
  );
  const seconds = Math.round((Date.now() - begun) / 1000);
  // The Lease expires after 15 s. The limit is longer, because the machine is busy when other test
  // files run at the same time.
  assert.ok(seconds < 60, `published ${seconds} s after the node was pulled`);
  for (const node of others)
    await until(`${node.name} has the entry`, () => "pulled.example" in auths(node), {
      timeout: 180_000,
    });
  context.diagnostic(`on every living node after ${Math.round((Date.now() - begun) / 1000)} s`);
  await host.start();
  await until("the pulled node catches up", () => "pulled.example" in auths(host), {
    timeout: 180_000,
  });
  await product.deleteAdditional(cluster);
  await product.untilRemoved(cluster);
});

test("H4: serves the living nodes if a node dies at the beginning of a rollout, without help", async (context) => {
  await product.installProduct(cluster, { settings: 1 });
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  const served = await product.untilServed(cluster);
  const [away, ...others] = (await hostFirst(cluster)).toReversed() as [Node, Node, Node];
  away.stop();
  const begun = Date.now();
  await writeEntry("second.example");
  for (const node of others)
    await until(`${node.name} has the entry`, () => has(node, "second.example"), {
      timeout: 300_000,
    });
  context.diagnostic(`on the living nodes after ${Math.round((Date.now() - begun) / 1000)} s`);
  const event = await product.untilEvent(cluster, "RolledOut", /is on 2 of 3 nodes/, {
    timeout: 300_000,
  });
  assert.match(event.message, new RegExp(away.name));
  assert.deepEqual(await product.events(cluster, "RolloutHalted"), []);
  await away.start();
  await until("the dead node catches up", () => has(away, "second.example"), { timeout: 180_000 });
  await product.untilServed(cluster, served);
});

test("H4: serves both nodes when they are back, if two of three nodes die", async () => {
  const before = await product.untilServed(cluster);
  const [host, ...away] = (await hostFirst(cluster)) as [Node, Node, Node];
  for (const node of away) node.stop();
  await writeEntry("third.example");
  for (const node of away) assert.ok(!has(node, "third.example"), node.name);
  for (const node of away) await node.start();
  for (const node of [host, ...away])
    await until(`${node.name} has the entry`, () => has(node, "third.example"), {
      timeout: 300_000,
    });
  await product.untilServed(cluster, before);
});

const has = (node: Node, registry: string): boolean => registry in auths(node);

/** Writes a Secret with one entry, for this registry. */
async function writeEntry(registry: string): Promise<void> {
  const document = { auths: { [registry]: { auth: "dTpw" } } };
  await product.writeAdditional(cluster, JSON.stringify(document));
}
