/**
 * Measures how soon a joining node has the credential, and how long the node's first ordinary pod
 * waits for the credential.
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
 * Adds a node. Asserts that the node has the credential before the node's network starts the first
 * ordinary pod. Returns the milliseconds from boot to the credential.
 */
async function joins(pod: string): Promise<number> {
  // Removes the network's configuration for now. On every cluster whose network runs as a pod, the
  // configuration appears some time after the kubelet's start.
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
  await product.untilServed(cluster, 1);
  writeFileSync(join(node.rootfs, network), configuration);
  await untilState(cluster, pod, "Running");
  assert.deepEqual(await pulls(pod), { asked: 1, failed: 0, lastFailed: 0 });
  // In this test the network waits for the agent, so the pod alone does not prove that the agent is
  // early. This assertion proves it.
  assert.ok(held - begun < 60_000, `the file was written ${held - begun} ms after boot`);
  return held - begun;
}

test("H4: gives a node that joins in the middle of a rollout the credential before its first ordinary pod", async (context) => {
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  await until("the rollout has reached the first node", () => cluster.nodes.every(holds));
  context.diagnostic(`the file was written ${await joins("during")} ms after boot`);
});

test("H4: gives a node that joins long after a rollout the credential before its first ordinary pod", async (context) => {
  context.diagnostic(`the file was written ${await joins("after")} ms after boot`);
});

test("lets a pod that starts before the agent pull as soon as the credential arrives", async (context) => {
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
  // Only the last restart counts. At boot, systemd may restart the kubelet earlier, because
  // containerd is not up yet.
  const restart = (await restarts(cluster, begun)).at(-1);
  const { mtimeMs } = statSync(join(node.rootfs, "var/lib/kubelet/config.json"));
  assert.ok(restart && restart.up > mtimeMs, `up ${restart?.up}, written ${mtimeMs}`);
  // The new kubelet remembers neither the failure nor the pause after the failure.
  assert.ok(lastFailed <= restart.up, `failed at ${lastFailed}, restarted at ${restart.up}`);
  // The new kubelet pulls once. The old kubelet may never have reported the end of its last pull.
  const own = Math.floor(restart.up / 1000) * 1000;
  assert.equal((await pulls("early", own)).asked, 1);
});
