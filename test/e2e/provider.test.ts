/**
 * Mode CredentialProvider on prepared nodes, as an administrator uses it. No real kubelet is ever
 * restarted for a credential.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { GlobalPullSecret, GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import {
  agentName,
  globalPullSecretName,
  providerFiles,
  type ProviderScope,
  useAnnotation,
} from "#contract/names.ts";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { fileMark, kubelets } from "./nodes.ts";
import { podOn, pullRefused, untilState } from "./pods.ts";
import { configure, prepare, prepareByPage } from "./prepared.ts";
import * as product from "./product.ts";

let cluster: Cluster;
/** Identifies each kubelet's process, and each config.json, before we installed anything. */
let first: readonly string[];
let marks: readonly string[];
let tags = 0;

const by = (scope: ProviderScope): GlobalPullSecretSpec => ({
  delivery: { mode: "CredentialProvider", credentialProvider: { scope } },
});

before(async () => {
  cluster = await startCluster({ nodes: 0 });
  await Promise.all([1, 2].map(() => cluster.addNode({ before: prepare })));
  const [one] = cluster.nodes;
  one?.writeFile("config.json", '{ "auths":{"elsewhere.example":{"auth":"eDp5"}} }\n', 0o640);
  await product.installProduct(cluster, {
    args: ["--delivery-modes=Restart,CredentialProvider"],
    components: ["annotated"],
    settings: by("All"),
  });
  first = await kubelets(cluster);
  marks = await Promise.all(cluster.nodes.map(fileMark));
});
after(() => cluster?.down());

/**
 * Changes the password, as the registry's owner does. The registry refuses the previous password
 * from now on.
 */
async function rotateAccount(): Promise<void> {
  const additional = randomBytes(18).toString("base64url");
  await cluster.registry.setUsers({ ...cluster.registry.users, additional });
}

async function declare(): Promise<void> {
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
}

/**
 * Creates one pod on each node and returns the pods' names. Unless `named` is given, no node has
 * the pods' image yet.
 */
async function pods(account?: string, named?: string): Promise<string[]> {
  tags += 1;
  const image = named ?? (await cluster.pushApp(`team/app:${tags}`));
  const made = cluster.nodes.map((node) => ({
    name: `p${tags}-${node.name}`,
    object: podOn(node, `p${tags}-${node.name}`, image) as { spec: object },
  }));
  const serviceAccountName = account && { serviceAccountName: account };
  const objects = made.map(({ object }) => ({
    ...object,
    spec: { ...object.spec, ...serviceAccountName },
  }));
  await cluster.apply(...objects);
  return made.map(({ name }) => name);
}

async function arePulled(account?: string, image?: string): Promise<void> {
  for (const name of await pods(account, image)) await untilState(cluster, name, "Running");
}

async function areRefused(account?: string, image?: string): Promise<readonly string[]> {
  const names = await pods(account, image);
  for (const name of names) await untilState(cluster, name, ...pullRefused);
  return names;
}

async function nothingRestarted(): Promise<void> {
  assert.deepEqual(await kubelets(cluster), first);
}

test("H1, H4, H5: lets every prepared node pull with the Secret alone, and touches neither a kubelet nor config.json", async () => {
  await areRefused();
  await declare();
  await product.untilServed(cluster, 1);
  await arePulled();
  await nothingRestarted();
  assert.deepEqual(await Promise.all(cluster.nodes.map(fileMark)), marks);
});

test("serves the next pull on every node, and a waiting pod, after each of two rotations, with the same kubelet processes", async () => {
  for (const revision of [2, 3]) {
    await rotateAccount();
    const waiting = await areRefused();
    await declare();
    await product.untilServed(cluster, revision);
    await arePulled();
    for (const name of waiting) await untilState(cluster, name, "Running");
    await nothingRestarted();
  }
});

test("H4: serves the next pull on a node that was prepared by the page's snippet and joins later, without restarting its kubelet", async () => {
  const joiner = await cluster.addNode({ before: prepareByPage });
  const { InvocationID } = await joiner.unit(["InvocationID"]);
  first = [...first, InvocationID];
  marks = [...marks, await fileMark(joiner)];
  await product.untilServed(cluster, 3);
  await arePulled();
  await nothingRestarted();
});

test("lists nodes that were prepared for another scope as unfit, does not touch them, and keeps their previous content in use", async () => {
  await product.steerProduct(cluster, by("Annotated"));
  const status = async () =>
    (await cluster.get<GlobalPullSecret>("gps", globalPullSecretName))?.status ?? {};
  // The controller tries one node after another, each with a new pod.
  const found = await until(
    "all nodes are listed",
    async () => {
      const { nodes, failures = [] } = await status();
      const count = cluster.nodes.length;
      return nodes?.unfit === count && failures.length === count ? failures : undefined;
    },
    { timeout: 240_000, seen: status },
  );
  for (const { code } of found) assert.match(code ?? "", /^GPS2\d\d$/);
  await arePulled();
  await nothingRestarted();
});

/** The hash of the configuration with which each kubelet runs, from the kubelet's metrics. */
async function configurations(): Promise<(string | undefined)[]> {
  const metrics = await Promise.all(
    cluster.nodes.map(({ name }) =>
      cluster.kubectl("get", "--raw", `/api/v1/nodes/${name}/proxy/metrics`),
    ),
  );
  const info = /^kubelet_credential_provider_config_info\{hash="(.+)"\} 1$/m;
  return metrics.map((text) => info.exec(text)?.[1]);
}

test("uses a new provider configuration only after the kubelet starts again", async () => {
  const before = await configurations();
  assert.ok(
    before.every((hash) => /^sha256:[0-9a-f]{64}$/.test(hash ?? "")),
    String(before),
  );
  assert.equal(new Set(before).size, 1);
  for (const node of cluster.nodes) configure(node, "Annotated");
  // If scope Annotated were in force already, these pods without the annotation could not run.
  await arePulled();
  assert.deepEqual(await configurations(), before);
  await nothingRestarted();
  for (const node of cluster.nodes) await node.exec(["systemctl", "restart", "kubelet.service"]);
  await until("every kubelet has read another configuration", async () => {
    const now = await configurations().catch(() => []);
    return now.length > 0 && now.every((hash, at) => hash !== undefined && hash !== before[at]);
  });
});

test("serves only the pod whose ServiceAccount has the annotation, with scope Annotated", async () => {
  for (const node of cluster.nodes) await cluster.untilReady(node);
  first = await kubelets(cluster);
  const metadata = { namespace: "default" };
  const [apiVersion, kind] = ["v1", "ServiceAccount"];
  await cluster.apply(
    {
      apiVersion,
      kind,
      metadata: { ...metadata, name: "may", annotations: { [useAnnotation]: "" } },
    },
    { apiVersion, kind, metadata: { ...metadata, name: "may-not" } },
  );
  // Replaces the pods, because the controller grants the content to new pods at once, but to nodes
  // that refused it only after ten minutes.
  await cluster.kubectl("rollout", "restart", `daemonset/${agentName}`, "-n", "kube-system");
  // The change of the scope made the controller publish the content again.
  await product.untilServed(cluster, 4);
  await arePulled("may");
  await areRefused("may-not");
  await nothingRestarted();
});

/** The kubelet's records of the pods that may use an image of this repository. */
async function recorded(node: Cluster["nodes"][number], repository: string): Promise<unknown[]> {
  const all = await node.exec(["sh", "-c", "cat /var/lib/kubelet/image_manager/pulled/*"]);
  const records = all.replaceAll("}{", "}\n{").split("\n").filter(Boolean);
  return records.flatMap((text) => {
    const { credentialMapping = {} } = JSON.parse(text) as {
      credentialMapping?: Record<string, unknown>;
    };
    const [, found] =
      Object.entries(credentialMapping).find(([name]) => name.endsWith(`/${repository}`)) ?? [];
    return found === undefined ? [] : [found];
  });
}

test("makes the kubelet, with scope Annotated, record an image only for the pod's ServiceAccount, refuse the image to other pods, and keep an earlier record for all pods", async () => {
  const image = await cluster.pushApp("scoped/app:1");
  await arePulled("may", image);
  for (const node of cluster.nodes) {
    const [record, ...others] = await recorded(node, "scoped/app");
    const { kubernetesServiceAccounts: accounts = [], ...rest } = record as {
      kubernetesServiceAccounts?: { namespace: string; name: string }[];
    };
    assert.deepEqual(
      accounts.map(({ namespace, name }) => `${namespace}/${name}`),
      ["default/may"],
    );
    assert.deepEqual([rest, others], [{}, []]);
    // The node pulled these images earlier, with scope All.
    assert.deepEqual(await recorded(node, "team/app"), [{ nodePodsAccessible: true }]);
  }
  await areRefused("may-not", image);
});

test("H20, H21: empties every answer and deletes our objects when the Secret is deleted, refuses the next pull, and keeps the node's preparation", async () => {
  await product.deleteAdditional(cluster);
  await product.untilRemoved(cluster);
  await areRefused("may");
  for (const node of cluster.nodes) {
    const answer = JSON.parse(node.readFile(providerFiles.answer)?.toString() ?? "") as object;
    assert.deepEqual((answer as { auth: object }).auth, {});
    assert.ok(node.readFile(providerFiles.script));
    assert.equal(node.readFile("global-pull-secret/journal.json"), undefined);
  }
  assert.deepEqual(await Promise.all(cluster.nodes.map(fileMark)), marks);
  await cluster.kubectl("delete", "-k", join(cluster.directory, "overlay"), "--timeout=60s");
  await nothingRestarted();
});
