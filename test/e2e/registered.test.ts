/** Mode CredentialProvider on nodes of kubeadm, where the agents register it, once and for good. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import type { GlobalPullSecret, GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import {
  agentName,
  globalPullSecretName,
  kubeadmFlagsFile,
  namespace,
  providerFiles,
} from "#contract/names.ts";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { kubelets } from "./nodes.ts";
import { podOn, untilState } from "./pods.ts";
import * as product from "./product.ts";

let cluster: Cluster;
let tags = 0;
const flags = 'KUBELET_KUBEADM_ARGS="--v=2"\n';
const registered: GlobalPullSecretSpec = {
  delivery: { mode: "CredentialProvider", credentialProvider: { registration: "Agent" } },
};

before(async () => {
  cluster = await startCluster({ nodes: 0 });
  const kubeadm = {
    before: (node: Cluster["nodes"][number]) => node.writeFile(kubeadmFlagsFile, flags),
  };
  await Promise.all([1, 2].map(() => cluster.addNode(kubeadm)));
  const args = ["--delivery-modes=Restart,CredentialProvider"];
  await product.installProduct(cluster, { args, wish: registered });
});
after(() => cluster?.down());

async function arePulled(): Promise<void> {
  tags += 1;
  const image = await cluster.pushApp(`team/app:${tags}`);
  const name = (node: string) => `p${tags}-${node}`;
  await cluster.apply(...cluster.nodes.map((node) => podOn(node, name(node.name), image)));
  for (const node of cluster.nodes) await untilState(cluster, name(node.name), "Running");
}

const declare = async () =>
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
const files = () => cluster.nodes.map((node) => node.readFile(kubeadmFlagsFile)?.toString());

/** What is said of where it stands, and by the agents' logs. */
async function said(): Promise<string> {
  const object = await cluster.get<GlobalPullSecret>("gps", globalPullSecretName);
  const ready = object?.status?.conditions?.find(({ type }) => type === "Ready");
  const agents = ["-n", namespace, "-l", `name=${agentName}`];
  const logs = await cluster.kubectl("logs", ...agents, "--tail=-1");
  return `${ready?.reason} ${ready?.message}\n${logs}`;
}

test("a registration goes from the first node to the next when a pod has pulled there, and until then it is said what is waited for", async () => {
  const before = await kubelets(cluster);
  await declare();
  const words = await until(
    "the first node waits",
    async () => {
      const found = await said();
      return found.includes("GPS255") ? found : undefined;
    },
    { timeout: 120_000, seen: said },
  );
  assert.match(words, /^OneNodeFirst .*until a pod pulls there, 10 min at most/);
  const told = files().map((text) => text !== flags);
  assert.deepEqual(new Set(told), new Set([false, true]));
  const during = await kubelets(cluster);
  assert.deepEqual(
    during.map((one, at) => one !== before[at]),
    told,
  );
  const first = cluster.nodes[told.indexOf(true)];
  assert.ok(first);
  const image = await cluster.pushApp("team/app:first");
  await cluster.apply(podOn(first, "first", image));
  await untilState(cluster, "first", "Running");
  await product.untilServed(cluster, 1);
  assert.ok((await kubelets(cluster)).every((one, at) => one !== before[at]));
});

/** How many nodes there are, and on how many of them this mode is possible, by the status. */
async function possible(): Promise<unknown[]> {
  const object = await cluster.get<GlobalPullSecret>("gps", globalPullSecretName);
  const { desired, registrable } = object?.status?.nodes ?? {};
  return [desired, registrable];
}

test("the status says on how many nodes this mode is possible", async () => {
  assert.deepEqual(await possible(), [2, 2]);
});

test("H17: each kubelet was restarted once to be told of the provider, and a rotation restarts none", async () => {
  const after = await kubelets(cluster);
  await arePulled();
  const additional = randomBytes(18).toString("base64url");
  await cluster.registry.setUsers({ ...cluster.registry.users, additional });
  await declare();
  await product.untilServed(cluster, 2);
  await arePulled();
  assert.deepEqual(await kubelets(cluster), after);
});

test("back in mode Restart the answer is emptied, the nodes pull, the registration stays for the next time, and the status still says where it is possible", async () => {
  const registration = files();
  await product.steerProduct(cluster, { delivery: { mode: "Restart" } });
  const answers = () =>
    cluster.nodes.map((node) => node.readFile(providerFiles.answer)?.toString() ?? "");
  await until("the answers are empty", () => answers().every((text) => /"auth":{}/.test(text)), {
    timeout: 120_000,
  });
  await product.untilServed(cluster, 2);
  await arePulled();
  assert.deepEqual(files(), registration);
  assert.deepEqual(await possible(), [2, 2]);
});

test("H20: in force again and withdrawn, a node is as it was, kubeadm's file byte for byte", async () => {
  await product.steerProduct(cluster, registered);
  await product.untilServed(cluster, 2);
  await arePulled();
  await product.deleteAdditional(cluster);
  await product.untilRemoved(cluster);
  assert.deepEqual(files(), [flags, flags]);
  const left = "ls /var/lib/kubelet | grep -E 'pull-secret|config.json' || true";
  for (const node of cluster.nodes) assert.equal(await node.exec(["sh", "-c", left]), "");
});
