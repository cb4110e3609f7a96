/**
 * Nodes whose agents answer late, never, or while another program writes config.json. One such node
 * delays no other node.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as names from "#contract/names.ts";
import { stays, until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { buildImage } from "../cluster/kit/image.ts";
import type { Node } from "../cluster/node.ts";
import { agents, allAtOnce, auths, hostFirst, nodeObject } from "./nodes.ts";
import * as product from "./product.ts";

let cluster: Cluster;

before(async () => {
  cluster = await startCluster({ nodes: 3 });
  await product.installProduct(cluster, { settings: 1 });
});
after(() => cluster?.down());

const has = (node: Node, place: string): boolean =>
  `${cluster.registry.host}/${place}` in auths(node);

/** Overwrites config.json on every node with another program's file, without our entries. */
function resetFiles(): void {
  const others = JSON.stringify({ auths: { "elsewhere.example": { auth: "dTpw" } } });
  for (const node of cluster.nodes) node.writeFile("config.json", others);
}

async function untilEverywhere(place: string): Promise<void> {
  for (const node of cluster.nodes)
    await until(`${node.name} has the entry`, () => has(node, place), { timeout: 120_000 });
}

test("H16: proves a rotation on every node although another program resets config.json just before", async () => {
  await product.writeAdditional(cluster, product.documentOf(cluster, "one"));
  const served = await product.untilServed(cluster);
  resetFiles();
  await product.writeAdditional(cluster, product.documentOf(cluster, "two"));
  await product.untilServed(cluster, served);
  await untilEverywhere("two");
  for (const node of cluster.nodes) {
    const { status } = (await nodeObject(cluster, node)) ?? {};
    assert.equal(status?.result, "Proved", node.name);
    assert.ok("elsewhere.example" in auths(node), node.name);
  }
});

test("H20: removes everything although another program resets config.json just before the withdrawal", async () => {
  resetFiles();
  await product.deleteAdditional(cluster);
  await product.untilRemoved(cluster);
  for (const node of cluster.nodes)
    assert.deepEqual(Object.keys(auths(node)), ["elsewhere.example"], node.name);
});

test("H4: serves all other nodes while one agent is frozen, and this node when the agent continues", async () => {
  await product.installProduct(cluster, { settings: allAtOnce });
  await product.writeAdditional(cluster, product.documentOf(cluster, "one"));
  const served = await product.untilServed(cluster);
  const [host, other, frozen] = (await hostFirst(cluster)) as [Node, Node, Node];
  const signal = (name: "STOP" | "CONT") => {
    const search = "grep -l '/app/agent[.]cjs' /proc/[0-9]*/cmdline | cut -d/ -f3";
    return frozen.exec(["sh", "-c", `kill -${name} $(${search})`]);
  };
  await signal("STOP");
  await product.writeAdditional(cluster, product.documentOf(cluster, "two"));
  for (const node of [host, other])
    await until(`${node.name} has the entry`, () => has(node, "two"), { timeout: 120_000 });
  // The next content does not wait for the frozen agent either.
  await product.writeAdditional(cluster, product.documentOf(cluster, "three"));
  for (const node of [host, other])
    await until(`${node.name} has the next entry`, () => has(node, "three"), { timeout: 120_000 });
  assert.ok(!has(frozen, "two"));
  await signal("CONT");
  await product.untilServed(cluster, served);
  assert.ok(has(frozen, "three"));
});

test("H4: serves a node that joins while the controller is killed", async () => {
  const running = [...cluster.nodes];
  const joining = cluster.addNode();
  const search = "kill -KILL $(grep -l '/app/controller[.]cjs' /proc/[0-9]*/cmdline | cut -d/ -f3)";
  for (const node of running) await node.exec(["sh", "-c", `${search} || true`]);
  const joiner = await joining;
  await until("the joining node has the entry", () => has(joiner, "three"), { timeout: 120_000 });
  const result = async () => (await nodeObject(cluster, joiner))?.status?.result;
  await until("the joining node is proved", async () => (await result()) === "Proved", {
    timeout: 120_000,
    seen: result,
  });
  await product.untilServed(cluster);
});

test("stops an upgrade at the first node if the new agents end after ten seconds", async () => {
  const image = await buildImage(cluster, {
    tag: "ends",
    agentLine: "setTimeout(() => process.exit(1), 10_000);\n",
  });
  const before = (await agents(cluster))[0]?.spec.containers[0]?.image;
  await product.installProduct(cluster, { image, settings: allAtOnce });
  type DaemonSet = { status: { updatedNumberScheduled?: number } };
  const updated = async () =>
    (await cluster.get<DaemonSet>("daemonset", names.agentName, "-n", names.namespace))?.status
      .updatedNumberScheduled ?? 0;
  const isReplaced = async () =>
    (await agents(cluster)).some(({ spec }) => spec.containers[0]?.image !== before);
  await until("the first agent is replaced", isReplaced, { timeout: 120_000 });
  await stays("no second agent is replaced", async () => (await updated()) <= 1, 70_000, 1000);
});
