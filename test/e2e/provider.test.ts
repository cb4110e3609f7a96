/**
 * Mode CredentialProvider on prepared nodes, as an administrator uses this mode. The agents never
 * restart a kubelet.
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
import { fileMark, kubelets, pullRecords } from "./nodes.ts";
import { podOn, pullRefused, untilState } from "./pods.ts";
import { configure, prepare, prepareByPage } from "./prepared.ts";
import * as product from "./product.ts";

let cluster: Cluster;
/**
 * `first` identifies each kubelet's process after the installation, and `marks` each config.json.
 */
let first: readonly string[];
let marks: readonly string[];
let tags = 0;

const by = (scope: ProviderScope): GlobalPullSecretSpec => ({
  delivery: { mode: "CredentialProvider", credentialProvider: { scope } },
});

before(async () => {
  cluster = await startCluster({ nodes: 0 });
  await Promise.all([1, 2].map(() => cluster.addNode({ before: prepare })));
  const [firstNode] = cluster.nodes;
  firstNode?.writeFile("config.json", '{ "auths":{"elsewhere.example":{"auth":"eDp5"}} }\n', 0o640);
  await product.installProduct(cluster, {
    args: ["--delivery-modes=Restart,CredentialProvider"],
    values: ["annotated.enabled=true"],
    settings: by("All"),
  });
  first = await kubelets(cluster);
  marks = await Promise.all(cluster.nodes.map(fileMark));
});
after(() => cluster?.down());

/** Changes the password in the registry. From now on the registry refuses the previous password. */
async function rotateAccount(): Promise<void> {
  const additional = randomBytes(18).toString("base64url");
  await cluster.registry.setUsers({ ...cluster.registry.users, additional });
}

async function declare(): Promise<void> {
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
}

/**
 * Creates one pod on each node and returns the pods' names. The pods' image is `named`, or by
 * default a new image that no node has yet.
 */
async function pods(account?: string, named?: string): Promise<string[]> {
  tags += 1;
  const image = named ?? (await cluster.pushApp(`team/app:${tags}`));
  const createdPods = cluster.nodes.map((node) => ({
    name: `p${tags}-${node.name}`,
    object: podOn(node, `p${tags}-${node.name}`, image) as { spec: object },
  }));
  const serviceAccountName = account && { serviceAccountName: account };
  const objects = createdPods.map(({ object }) => ({
    ...object,
    spec: { ...object.spec, ...serviceAccountName },
  }));
  await cluster.apply(...objects);
  return createdPods.map(({ name }) => name);
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

test("H1, H4, H5: serves every prepared node without a kubelet restart and without a write to config.json", async () => {
  await areRefused();
  await declare();
  await product.untilServed(cluster);
  await arePulled();
  await nothingRestarted();
  assert.deepEqual(await Promise.all(cluster.nodes.map(fileMark)), marks);
});

test("serves new and waiting pods after each of two rotations, and restarts no kubelet", async () => {
  for (let rotation = 0; rotation < 2; rotation += 1) {
    const served = (await product.revision(cluster)) ?? 0;
    await rotateAccount();
    const waiting = await areRefused();
    await declare();
    await product.untilServed(cluster, served);
    await arePulled();
    for (const name of waiting) await untilState(cluster, name, "Running");
    await nothingRestarted();
  }
});

test("H4: serves a joining node that was prepared by the page's snippet, and restarts no kubelet", async () => {
  const joiner = await cluster.addNode({ before: prepareByPage });
  const { InvocationID } = await joiner.unit(["InvocationID"]);
  first = [...first, InvocationID];
  marks = [...marks, await fileMark(joiner)];
  await product.untilServed(cluster);
  await arePulled();
  await nothingRestarted();
});

test("lists nodes that were prepared for another scope as unfit, and leaves their previous content in use", async () => {
  await product.steerProduct(cluster, by("Annotated"));
  const status = async () =>
    (await cluster.get<GlobalPullSecret>("gps", globalPullSecretName))?.status ?? {};
  // The DaemonSet controller replaces the agents' pods one after another.
  const allFailures = await until(
    "all nodes are listed",
    async () => {
      const { nodes, failures = [] } = await status();
      const count = cluster.nodes.length;
      return nodes?.unfit === count && failures.length === count ? failures : undefined;
    },
    { timeout: 240_000, seen: status },
  );
  for (const { code } of allFailures) assert.match(code ?? "", /^GPS2\d\d$/);
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

test("the kubelet uses a new provider configuration only after its restart", async () => {
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

test("in scope Annotated, serves only pods whose ServiceAccount has the annotation", async () => {
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
  // Replaces the agents' pods, because the controller asks a new pod at once. The nodes have
  // refused the content, so the controller would ask the old pods only after ten minutes.
  await cluster.kubectl("rollout", "restart", `daemonset/${agentName}`, "-n", "kube-system");
  await product.untilServed(cluster);
  await arePulled("may");
  await areRefused("may-not");
  await nothingRestarted();
});

test("in scope Annotated, the kubelet records a pulled image only for the ServiceAccount of the pod", async () => {
  const image = await cluster.pushApp("scoped/app:1");
  await arePulled("may", image);
  for (const node of cluster.nodes) {
    const [record, ...others] = await pullRecords(node, "scoped/app");
    const { kubernetesServiceAccounts: accounts = [], ...rest } = record as {
      kubernetesServiceAccounts?: { namespace: string; name: string }[];
    };
    assert.deepEqual(
      accounts.map(({ namespace, name }) => `${namespace}/${name}`),
      ["default/may"],
    );
    assert.deepEqual([rest, others], [{}, []]);
    // The node has pulled these images earlier, in scope All.
    assert.deepEqual(await pullRecords(node, "team/app"), [{ nodePodsAccessible: true }]);
  }
  await areRefused("may-not", image);
});

test("H20, H21: empties every provider's answer when the Secret is deleted, and keeps the nodes' preparation", async () => {
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
