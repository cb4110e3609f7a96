/**
 * Replaces an agent by a newer or an older agent for the same revision. The new agent continues
 * with the journal and the file of the previous agent, and restarts nothing.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import * as names from "#contract/names.ts";
import { stays, until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { buildImage } from "../cluster/kit/image.ts";
import type { Node } from "../cluster/node.ts";
import { agentLog, agentOn, allAtOnce, auths, fileMark, kubelets } from "./nodes.ts";
import * as product from "./product.ts";

let cluster: Cluster;
let node: Node;
const journal = "global-pull-secret/journal.json";
const deployment = ["deployment/global-pull-secret-controller", "-n", names.namespace] as const;

before(async () => {
  cluster = await startCluster({ nodes: 1 });
  assert.ok(cluster.nodes[0]);
  [node] = cluster.nodes as [Node];
  await product.installProduct(cluster, { settings: allAtOnce });
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  await product.untilServed(cluster);
});
after(() => cluster?.down());

const state = async () => ({
  kubelet: await kubelets(cluster),
  file: await fileMark(node),
  revision: await product.revision(cluster),
});

/** Waits for an available agent that is another pod than `old`. */
async function untilReplaced(old: string): Promise<void> {
  await until(
    "another agent is there",
    async () => (await agentOn(cluster, node)).metadata.uid !== old,
  );
  await product.untilServed(cluster);
}

test("H19: restarts no kubelet and writes no file when the agents get another template", async () => {
  const before = await state();
  const { uid } = (await agentOn(cluster, node)).metadata;
  const path = "/spec/template/spec/containers/0/args";
  const patch = [{ op: "add", path, value: ["--agent-requests=memory=33Mi"] }];
  await cluster.kubectl("patch", ...deployment, "--type=json", "-p", JSON.stringify(patch));
  await untilReplaced(uid);
  assert.match(JSON.stringify((await agentOn(cluster, node)).spec), /33Mi/);
  assert.deepEqual(await state(), before);
});

test("H19: restarts no kubelet and writes no file when the controller and its agents get another image", async () => {
  const before = await state();
  const { uid } = (await agentOn(cluster, node)).metadata;
  const image = await buildImage(cluster, { tag: "next" });
  await product.installProduct(cluster, { image, settings: allAtOnce });
  await untilReplaced(uid);
  assert.equal((await agentOn(cluster, node)).spec.containers[0]?.image, image);
  assert.deepEqual(await state(), before);
});

/**
 * Changes the node's journal to one that a newer agent might have written, and replaces the agent's
 * pod.
 */
async function downgrade(change: object): Promise<string> {
  const stored = JSON.parse(node.readFile(journal)?.toString() ?? "") as object;
  const { name, uid } = (await agentOn(cluster, node)).metadata;
  const text = JSON.stringify({ ...stored, ...change });
  node.writeFile(journal, text);
  await cluster.kubectl("delete", "pod", name, "-n", names.namespace, "--wait=false");
  await until(
    "another agent is there",
    async () => (await agentOn(cluster, node)).metadata.uid !== uid,
  );
  return text;
}

test("on a downgrade, continues without a kubelet restart if this version can read the newer journal", async () => {
  const before = await state();
  await downgrade({ version: 4, reads: 3, novelty: { kept: true } });
  await product.untilServed(cluster);
  assert.deepEqual(await state(), before);
});

test("on a downgrade, reports a newer journal that this version cannot read, and changes nothing on the node", async () => {
  const before = await state();
  const served = before.revision ?? 0;
  const good = node.readFile(journal)?.toString() ?? "";
  const text = await downgrade({ version: 9, reads: 9, owned: "in a form of the future" });
  await until(
    "the agent reports why it waits",
    async () => /GPS222/.test(await agentLog(cluster, node)),
    {
      seen: () => agentLog(cluster, node),
    },
  );
  await product.writeAdditional(
    cluster,
    JSON.stringify({ auths: { "other.example": { auth: "dTpw" } } }),
  );
  await until("status reports it", async () => {
    const object = await cluster.get<GlobalPullSecret>("globalpullsecret", "cluster");
    return object?.status?.failures?.some(({ code }) => code === "GPS222");
  });
  await stays("the node is left alone", () => node.readFile(journal)?.toString() === text, 4000);
  const now = await state();
  assert.deepEqual([now.kubelet, now.file], [before.kubelet, before.file]);
  // Restores a journal that this version can read. The agent in a new pod continues.
  node.writeFile(journal, good);
  const { name } = (await agentOn(cluster, node)).metadata;
  await cluster.kubectl("delete", "pod", name, "-n", names.namespace);
  await product.untilServed(cluster, served);
  assert.deepEqual(Object.keys(auths(node)), ["other.example"]);
});

test("H21: leaves nothing behind in a removal after the upgrades and downgrades above", async () => {
  await product.deleteAdditional(cluster);
  await product.untilRemoved(cluster);
  assert.equal(node.readFile("config.json"), undefined);
  assert.equal(node.readFile(journal), undefined);
});
