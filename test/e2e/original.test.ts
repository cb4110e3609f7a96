/**
 * The original pull secret beside additional-pull-secret: precedence, rotation, and invalid or
 * missing sources.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import * as names from "#contract/names.ts";
import { stays } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { allAtOnce, auths, fileMark, kubelets } from "./nodes.ts";
import { podOn, untilState } from "./pods.ts";
import * as product from "./product.ts";

let cluster: Cluster;

before(async () => {
  cluster = await startCluster();
  await product.installProduct(cluster, {
    args: ["--original=kube-system/pull-secret"],
    values: ["original=kube-system/pull-secret"],
    settings: allAtOnce,
  });
});
after(() => cluster?.down());

async function writeOriginal(document: string): Promise<void> {
  await cluster.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "pull-secret", namespace: names.namespace },
    type: names.secretType,
    data: { [names.secretKeys.document]: Buffer.from(document).toString("base64") },
  });
}

/** Reads the values that would show a change on a node or in global-pull-secret. */
async function everything(): Promise<unknown> {
  return {
    revision: await product.revision(cluster),
    kubelets: await kubelets(cluster),
    files: await Promise.all(cluster.nodes.map(fileMark)),
  };
}

/**
 * Asserts that nothing changes for 3 s. A change would begin sooner: the controller reacts at once,
 * and an agent writes within a second of a change of its Secret.
 */
async function staysAs(before: unknown): Promise<void> {
  const holds = async () => isDeepStrictEqual(await everything(), before);
  await stays("nothing changes", holds, 3000);
}

/**
 * Runs the private image on every node, under a new tag. Returns the users whose credential the
 * registry accepted.
 */
async function pullers(tag: string): Promise<string[]> {
  const image = await cluster.pushApp(`team/${tag}:1`);
  await cluster.apply(...cluster.nodes.map((node) => podOn(node, `${tag}-${node.name}`, image)));
  for (const node of cluster.nodes) await untilState(cluster, `${tag}-${node.name}`, "Running");
  // Counts only requests for manifests: a node that has the layers from another tag requests only
  // the manifest's digest, with HEAD.
  const pulls = cluster.registry
    .accesses()
    .filter(({ user, path }) => user !== "pusher" && path.startsWith(`/v2/team/${tag}/manifests/`));
  assert.ok(pulls.length >= cluster.nodes.length);
  return [...new Set(pulls.map(({ user }) => user))];
}

const ours = () => ({ [cluster.registry.host]: cluster.registry.auth("additional") });
const platform = (word: string) => ({
  "platform.example": { auth: Buffer.from(`site:${word}`).toString("base64") },
});

test("reports a missing original and delays nothing", async () => {
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  const event = await product.untilEvent(cluster, "OriginalRejected", /GPS303/);
  assert.equal(event.type, "Warning");
  await product.untilServed(cluster, 1);
  for (const node of cluster.nodes) assert.deepEqual(auths(node), ours());
});

test("H9: merges an original that is created later, and prefers additional-pull-secret's entry on a conflict", async () => {
  await writeOriginal(
    JSON.stringify({
      auths: { [cluster.registry.host]: cluster.registry.auth("original"), ...platform("one") },
    }),
  );
  await product.untilServed(cluster, 2);
  for (const node of cluster.nodes)
    assert.deepEqual(auths(node), { ...ours(), ...platform("one") });
  assert.deepEqual(await pullers("conflict"), ["additional"]);
});

test("H3: while additional-pull-secret is invalid, keeps its last valid entries and delivers the original's rotation", async () => {
  await product.writeAdditional(cluster, '{"auths":{"":{"auth":"dTpw"}}}');
  await product.untilEvent(cluster, "Rejected", /empty/);
  await writeOriginal(JSON.stringify({ auths: platform("two") }));
  await product.untilServed(cluster, 3);
  for (const node of cluster.nodes)
    assert.deepEqual(auths(node), { ...ours(), ...platform("two") });
  assert.deepEqual(await pullers("rotated"), ["additional"]);
});

test("H24: changes nothing when both sources are invalid, and reports both", async () => {
  const before = await everything();
  await writeOriginal('{"auths":{"platform.example":{"auth":"%%%"}}}');
  const original = await product.untilEvent(
    cluster,
    "OriginalRejected",
    /original: auths\["platform\.example"\]\.auth/,
  );
  await product.writeAdditional(cluster, '{"auths":{"other.example":{"auth":"%%%"}}}');
  const additional = await product.untilEvent(
    cluster,
    "Rejected",
    /additional: auths\["other\.example"\]\.auth/,
  );
  assert.deepEqual([original.type, additional.type], ["Warning", "Warning"]);
  await staysAs(before);
});

test("removes nothing from the nodes when the original is deleted, and reports the deletion", async () => {
  const before = await everything();
  await cluster.kubectl("delete", "events", "-n", names.namespace, "--all");
  await cluster.kubectl("delete", "secret", "pull-secret", "-n", names.namespace);
  await product.untilEvent(cluster, "OriginalRejected", /GPS303/);
  await staysAs(before);
  await writeOriginal(JSON.stringify({ auths: platform("two") }));
});

test("H21: leaves no config.json after a removal if none existed before, even if an original is configured", async () => {
  await product.deleteAdditional(cluster);
  await product.untilRemoved(cluster);
  for (const node of cluster.nodes) assert.equal(node.readFile("config.json"), undefined);
  assert.ok(
    await cluster.get("secret", "pull-secret", "-n", names.namespace),
    "a removal must keep the original",
  );
});
