/**
 * Measures the time until a joining node has the credential. The node's first ordinary pod must not
 * have to wait for the credential.
 */
import assert from "node:assert/strict";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import type { Node } from "../cluster/node.ts";
import { auths } from "./nodes.ts";
import { podOn, untilState } from "./pods.ts";
import * as product from "./product.ts";
import { restarts } from "./restarts.ts";

let cluster: Cluster;
let image: string;

before(async () => {
  cluster = await startCluster({ nodes: 1 });
  image = await cluster.pushApp("team/app:1");
  await product.installProduct(cluster, { settings: 1 });
});
after(() => cluster?.down());

const holds = (node: Node): boolean => cluster.registry.host in auths(node);

type Event = {
  reason: string;
  message: string;
  count: number;
  firstTimestamp: string;
  lastTimestamp: string;
};

type Pulls = { asked: number; failed: number; lastFailed: number };

/**
 * Returns how many pulls of the pod's image kubelets tried, how many pulls failed, and when the
 * last failure was. Counts only kubelets that reported their first pull at `since` or later.
 */
async function pulls(pod: string, since = 0): Promise<Pulls> {
  const filter = `--field-selector=involvedObject.name=${pod}`;
  const events =
    (await cluster.get<{ items: Event[] }>("events", "-n", "default", filter))?.items ?? [];
  const asking = events
    .filter(({ reason }) => reason === "Pulling")
    .filter(({ firstTimestamp }) => Date.parse(firstTimestamp) >= since);
  const failures = events.filter(
    ({ reason, message }) => reason === "Failed" && message.startsWith("Failed to pull image"),
  );
  const total = (some: readonly Event[]): number => some.reduce((sum, { count }) => sum + count, 0);
  const times = failures.map(({ lastTimestamp }) => Date.parse(lastTimestamp));
  return { asked: total(asking), failed: total(failures), lastFailed: Math.max(0, ...times) };
}

/**
 * Adds a node. Asserts that the node has the credential before its network is ready, and therefore
 * before the first ordinary pod can start. Returns the milliseconds from boot to the credential.
 */
async function joins(pod: string): Promise<number> {
  // Removes the CNI configuration until the node has the credential. In every cluster whose network
  // runs as a pod, this configuration also appears only some time after the kubelet's start.
  const network = "etc/cni/net.d/10-ptp.conflist";
  let configuration = Buffer.alloc(0);
  const before = (node: Node): void => {
    configuration = readFileSync(join(node.rootfs, network));
    rmSync(join(node.rootfs, network));
  };
  const begun = Date.now();
  const node = await cluster.addNode({ before, ready: false });
  await cluster.apply(podOn(node, pod, image));
  await until("the node has the credential", () => holds(node), { every: 50 });
  const held = Date.now();
  await product.untilServed(cluster);
  writeFileSync(join(node.rootfs, network), configuration);
  await untilState(cluster, pod, "Running");
  assert.deepEqual(await pulls(pod), { asked: 1, failed: 0, lastFailed: 0 });
  // In this test the network is ready only after the agent's work. Therefore the pod does not prove
  // that the agent is fast, but the next assertion does.
  assert.ok(held - begun < 60_000, `the file was written ${held - begun} ms after boot`);
  return held - begun;
}

test("H4: delivers the credential before the first ordinary pod when a node joins in the middle of a rollout", async (context) => {
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  await until("the rollout has reached the first node", () => cluster.nodes.every(holds));
  context.diagnostic(`the file was written ${await joins("during")} ms after boot`);
});

test("H4: delivers the credential before the first ordinary pod when a node joins after a rollout", async (context) => {
  context.diagnostic(`the file was written ${await joins("after")} ms after boot`);
});

test("if a pod starts before the agent, the pod can pull its image as soon as the node has the credential", async (context) => {
  await cluster.apply(podOn({ name: "node4" } as Node, "early", image));
  const begun = Date.now();
  const since = (): number => Date.now() - begun;
  const adding = cluster.addNode();
  const held = until("node4 has the credential", () => cluster.nodes.slice(3).some(holds), {
    every: 20,
  }).then(since);
  const node = await adding;
  assert.equal(node.name, "node4");
  const ready = since();
  await untilState(cluster, "early", "Running");
  const running = since();
  const { asked, failed, lastFailed } = await pulls("early");
  const times = `Ready ${ready} ms, file written ${await held} ms, pod runs ${running} ms`;
  context.diagnostic(`since boot: ${times}; ${asked} pulls, ${failed} failed`);
  // Only the last restart counts. At boot, systemd can restart the kubelet earlier, because
  // containerd is not up yet.
  const restart = (await restarts(cluster, begun)).at(-1);
  const { mtimeMs } = statSync(join(node.rootfs, "var/lib/kubelet/config.json"));
  assert.ok(restart && restart.up > mtimeMs, `up ${restart?.up}, written ${mtimeMs}`);
  // The restarted kubelet has no failed pull, because it does not remember the earlier failure and
  // the back-off.
  assert.ok(lastFailed <= restart.up, `failed at ${lastFailed}, restarted at ${restart.up}`);
  // The restarted kubelet pulls only once. Pulls before the restart are not counted, because the
  // stopped kubelet might not have reported how its last pull ended.
  const own = Math.floor(restart.up / 1000) * 1000;
  assert.equal((await pulls("early", own)).asked, 1);
});
