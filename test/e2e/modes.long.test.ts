/**
 * Changes the delivery mode in the middle of a rollout, on real kubelets that were prepared for
 * mode CredentialProvider. During the whole change each node has a credential in its file, in its
 * provider's answer or in containerd's hosts.toml, so that it can pull.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type DeliveryMode, providerFiles } from "#contract/names.ts";
import * as names from "#contract/names.ts";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import type { Node } from "../cluster/node.ts";
import { auths, kubelets, pullRecords, skipRereadWait } from "./nodes.ts";
import { podOn, untilState } from "./pods.ts";
import { prepare } from "./prepared.ts";
import * as product from "./product.ts";

let cluster: Cluster;

const by = (mode: DeliveryMode) => ({
  delivery: { mode },
  rollout: { maxUnavailable: 1, probation: "5s" },
});

before(async () => {
  cluster = await startCluster({ nodes: 0 });
  await Promise.all([1, 2].map(() => cluster.addNode({ before: prepare })));
  await product.installProduct(cluster, {
    args: [
      "--delivery-modes=Restart,Reread,CredentialProvider,Runtime",
      "--containerd-directory=/etc/containerd",
    ],
    settings: by("Restart"),
  });
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  await product.untilServed(cluster);
});
after(() => cluster?.down());

type Transport = "file" | "answer" | "hosts";

/**
 * The registry's credential in a node's config.json, in the answer of the node's provider, and in
 * hosts.toml. Reads config.json first.
 */
function transportsOf(node: Node): Readonly<Record<Transport, string | undefined>> {
  const { host } = cluster.registry;
  const file = auths(node)[host]?.auth;
  const text = node.readFile(providerFiles.answer)?.toString() ?? '{"auth":{}}';
  const { auth } = JSON.parse(text) as { auth: Record<string, Record<string, string>> };
  const { username, password } = auth[host] ?? {};
  const answer = username && Buffer.from(`${username}:${password}`).toString("base64");
  const path = join(node.rootfs, "etc/containerd/certs.d", host, "hosts.toml");
  const [, hosts] = /"Basic (.+)"/.exec(readFileSync(path, "utf8")) ?? [];
  return { file, answer, hosts };
}

const transports: Readonly<Record<DeliveryMode, Transport>> = {
  Restart: "file",
  Reread: "file",
  CredentialProvider: "answer",
  Runtime: "hosts",
};

/** Forgets the last publications: after six, the controller publishes once in ten minutes only. */
async function forgetPublications(): Promise<void> {
  const its = ["-n", names.namespace];
  const secret = await cluster.get<{ data: Record<string, string> }>(
    "secret",
    names.stateSecretName,
    ...its,
  );
  const text = Buffer.from(secret?.data["rollout"] ?? "", "base64").toString();
  const rollout = Buffer.from(JSON.stringify({ ...JSON.parse(text), bucketUntil: 0 }));
  const patch = JSON.stringify({ data: { rollout: rollout.toString("base64") } });
  await cluster.kubectl("patch", "secret", names.stateSecretName, ...its, "--patch", patch);
}

/** The mode in global-pull-secret. */
async function publishedMode(): Promise<string> {
  const its = ["-n", names.namespace];
  const secret = await cluster.get<{ data: Record<string, string> }>(
    "secret",
    names.globalSecretName,
    ...its,
  );
  return Buffer.from(secret?.data[names.secretKeys.mode] ?? "", "base64").toString();
}

/**
 * On every node, skips the five minutes in which the agent waits until the kubelet has read the
 * file again.
 */
async function skipRereadWaits(signal: AbortSignal): Promise<void> {
  const done = new Map<Node, number>();
  type Written = Readonly<{ monotonic: number }>;
  const writtenOn = (node: Node) => {
    const text = node.readFile("global-pull-secret/journal.json")?.toString() || "{}";
    const { phase, written } = JSON.parse(text) as { phase?: string; written?: Written };
    return phase === "resting" ? written?.monotonic || undefined : undefined;
  };
  for (;;) {
    const isNew = (node: Node) => ![undefined, done.get(node)].includes(writtenOn(node));
    const next = await until(
      "a node has a new file, or all nodes do",
      () => (signal.aborted ? "over" : cluster.nodes.find(isNew)),
      { timeout: 300_000 },
    );
    if (next === "over") return;
    const written = writtenOn(next);
    await skipRereadWait(next).catch(() => {});
    done.set(next, writtenOn(next) ?? written ?? 0);
  }
}

/**
 * Writes a new password, changes the mode when only one node has this password, and waits until all
 * nodes have the password in the new mode. Returns how many nodes did not have the password when
 * the content was published for the new mode.
 */
async function changeInMidRollout(from: DeliveryMode, to: DeliveryMode): Promise<number> {
  const additional = randomBytes(18).toString("base64url");
  await cluster.registry.setUsers({ ...cluster.registry.users, additional });
  const { auth } = cluster.registry.auth("additional");
  const has = (mode: DeliveryMode) =>
    cluster.nodes.filter((node) => transportsOf(node)[transports[mode]] === auth).length;
  const without = new Set<string>();
  const over = new AbortController();
  const watch = setInterval(() => {
    for (const node of cluster.nodes) {
      const credentials = Object.values(transportsOf(node));
      if (credentials.every((credential) => credential === undefined)) without.add(node.name);
    }
  }, 50);
  try {
    await forgetPublications();
    await product.writeAdditional(cluster, cluster.registry.document("additional"));
    await until("the first node has the password", () => has(from) > 0, { every: 20 });
    assert.equal(has(from), 1);
    await product.steerProduct(cluster, by(to));
    const hurried = skipRereadWaits(over.signal);
    // The controller publishes the content for the new mode only after the first node has finished
    // its change.
    await until(
      "the content is published in the new mode",
      async () => (await publishedMode()) === to,
      { every: 20 },
    );
    const lacking = cluster.nodes.length - has(from);
    await product.rolledOut(cluster);
    over.abort();
    await hurried;
    assert.equal(has(to), cluster.nodes.length);
    assert.deepEqual([...without], [], "a node had the credential in no transport");
    return lacking;
  } finally {
    clearInterval(watch);
    over.abort();
  }
}

/** How many kubelets were restarted; `before`: what `kubelets` returned. */
async function restartedSince(before: readonly string[]): Promise<number> {
  const now = await kubelets(cluster);
  return now.filter((kubelet, at) => kubelet !== before[at]).length;
}

let tags = 0;

/**
 * Lets every node pull a new image. The agents' waits were skipped, so the kubelets would still use
 * the entries that they have read up to five minutes ago; a restart lets them read the file again.
 */
async function arePulled(): Promise<void> {
  for (const node of cluster.nodes) await node.exec(["systemctl", "restart", "kubelet.service"]);
  tags += 1;
  const image = await cluster.pushApp(`team/app:${tags}`);
  const pods = cluster.nodes.map((node) => [node, `p${tags}-${node.name}`] as const);
  await cluster.apply(...pods.map(([node, name]) => podOn(node, name, image)));
  for (const [, name] of pods) await untilState(cluster, name, "Running");
  // In each mode the kubelet lets all pods use the image.
  for (const node of cluster.nodes)
    assert.deepEqual(await pullRecords(node, "team/app"), [{ nodePodsAccessible: true }]);
}

test("restarts at most one kubelet when the mode changes from Restart to CredentialProvider", async () => {
  const before = await kubelets(cluster);
  await changeInMidRollout("Restart", "CredentialProvider");
  assert.ok((await restartedSince(before)) <= 1);
  await arePulled();
  for (const node of cluster.nodes) assert.equal(transportsOf(node).file, undefined);
});

test("when the mode changes from CredentialProvider to Restart, restarts no kubelet that has the password, and empties the providers' answers", async () => {
  const before = await kubelets(cluster);
  const lacking = await changeInMidRollout("CredentialProvider", "Restart");
  // A node that lacks the password can still get it in the old mode, without a restart.
  assert.ok((await restartedSince(before)) <= lacking);
  await arePulled();
  for (const node of cluster.nodes) assert.equal(transportsOf(node).answer, undefined);
});

test("restarts at most one kubelet when the mode changes from Restart to Reread", async () => {
  const before = await kubelets(cluster);
  await changeInMidRollout("Restart", "Reread");
  assert.ok((await restartedSince(before)) <= 1);
});

test("serves every node when the mode changes from Reread to Restart", async () => {
  await changeInMidRollout("Reread", "Restart");
  await arePulled();
});

for (const [from, to, transport] of [
  ["Restart", "Runtime", "file"],
  ["Runtime", "CredentialProvider", "hosts"],
  ["CredentialProvider", "Runtime", "answer"],
] as const)
  test(`restarts no kubelet when the mode changes from ${from} to ${to}, and leaves nothing in the ${transport}`, async () => {
    const before = await kubelets(cluster);
    await changeInMidRollout(from, to);
    // In mode Restart, one kubelet was restarted with the password before the mode changed.
    assert.ok((await restartedSince(before)) <= (from === "Restart" ? 1 : 0));
    await arePulled();
    for (const node of cluster.nodes) assert.equal(transportsOf(node)[transport], undefined);
  });

test("when the mode changes from Runtime to Restart, restarts no kubelet that has the password, and empties hosts.toml", async () => {
  const before = await kubelets(cluster);
  const lacking = await changeInMidRollout("Runtime", "Restart");
  assert.ok((await restartedSince(before)) <= lacking);
  await arePulled();
  for (const node of cluster.nodes) assert.equal(transportsOf(node).hosts, undefined);
});
