/**
 * Agents restart the kubelets in stages: first one node, then as many at once as maxUnavailable
 * allows. The times are from systemd's journal on the nodes.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as names from "#contract/names.ts";
import { until } from "../cluster/await.ts";
import { longTest } from "../sample.ts";
import { auditOf, isWrite } from "../cluster/audit.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { auths, kubelets } from "./nodes.ts";
import * as product from "./product.ts";
import { mostAtOnce, restarts, type Restart } from "./restarts.ts";

/** Milliseconds for which a restarted kubelet is on probation. */
const probation = 3000;

let cluster: Cluster;

before(async () => {
  cluster = await startCluster({ nodes: 3 });
  await product.installProduct(cluster, { settings: 1 });
});
after(() => cluster?.down());

/**
 * Writes the Secret, waits until every node has the next revision, and returns the kubelets'
 * restarts for this change.
 */
async function change(place: string): Promise<Restart[]> {
  const since = Date.now();
  const revision = (await product.revision(cluster)) ?? 0;
  await product.writeAdditional(cluster, product.documentOf(cluster, place));
  await product.untilServed(cluster, revision);
  return await restarts(cluster, since);
}

function nodesOf(all: readonly Restart[]): string[] {
  return all.map(({ node }) => node).toSorted();
}

const everyNode = ["node1", "node2", "node3"];

test("H17: never restarts two kubelets together while maxUnavailable is 1, not even on the first deployment", async () => {
  const all = await change("one");
  assert.deepEqual(nodesOf(all), everyNode, JSON.stringify(all));
  assert.equal(mostAtOnce(all, probation), 1, JSON.stringify(all));
});

test("H17: asks one node first, and after this node's proof to as many nodes as maxUnavailable allows", async () => {
  await product.installProduct(cluster, { settings: "50%" });
  const begun = new Date().toISOString();
  const all = await change("two");
  assert.deepEqual(nodesOf(all), everyNode);
  const [first, second, third] = all;
  assert.ok(first && second && third);
  assert.ok(
    second.down >= first.up + probation,
    `${second.node} did not wait for ${first.node}: ${JSON.stringify(all)}`,
  );
  // maxUnavailable is 50 %, which is two of three nodes. Therefore the second and the third node
  // are asked together, without waiting for each other's proof.
  const requests = auditOf(cluster, { since: begun });
  const ofPods = requests.filter(
    ({ resource, subresource }) => resource === "pods" && !subresource,
  );
  assert.deepEqual(
    ofPods.filter((request) => isWrite(request)),
    [],
    "no pod is changed",
  );
  const firstPatches = new Map<string, number>();
  for (const { verb, name, at, resource, subresource } of requests)
    if (
      resource === "nodepullsecrets" &&
      !subresource &&
      verb === "patch" &&
      !firstPatches.has(name)
    )
      firstPatches.set(name, Date.parse(at));
  assert.equal(firstPatches.size, 3);
  const [, earlier = 0, other = 0] = [...firstPatches.values()].toSorted((a, b) => a - b);
  assert.ok(other - earlier < probation, `${other - earlier} ms apart`);
});

test("H17: restarts at most two kubelets at once, even when two changes follow each other quickly", async () => {
  const since = Date.now();
  await product.writeAdditional(cluster, product.documentOf(cluster, "three"));
  // At this time every kubelet has been restarted, but the last two are still on probation.
  const last = async () =>
    (await restarts(cluster, since)).filter(({ up }) => up < Date.now()).length === 3;
  await until("every kubelet has been restarted", last);
  await product.writeAdditional(cluster, product.documentOf(cluster, "four"));
  const written = Date.now();
  await until("a second and a half has passed", () => Date.now() - written > 1500);
  await product.writeAdditional(cluster, product.documentOf(cluster, "five"));
  await until("the last change is published", async () => {
    const secret = await cluster.get<{ data: Record<string, string> }>(
      "secret",
      names.globalSecretName,
      "-n",
      names.namespace,
    );
    return Buffer.from(secret?.data[names.secretKeys.document] ?? "", "base64").includes("/five");
  });
  await product.untilServed(cluster);

  const all = await restarts(cluster, since);
  assert.ok(mostAtOnce(all, probation) <= 2, JSON.stringify(all));
  // A node that was not asked for "four" before "five" was published skips "four".
  for (const name of everyNode) {
    const count = all.filter(({ node }) => node === name).length;
    assert.ok(count === 2 || count === 3, `${name}: ${count} restarts`);
  }
});

longTest(
  "H18: rolls back the file and halts the rollout if a kubelet dies during its probation",
  async () => {
    // The kubelet dies 2.5 s after its start: long after its first request to the API server, but
    // before the agent can be Ready (in the fourth second). systemd restarts the kubelet only after
    // 10 s, which is after the probation of 8 s.
    await product.installProduct(cluster, {
      settings: { rollout: { maxUnavailable: "50%", probation: "8s" } },
    });
    const dies = `grep -q /bad /var/lib/kubelet/config.json && (sleep 2.5; kill -KILL $MAINPID) & true`;
    const unit = `[Service]\nRestartSec=10\nExecStartPost=/bin/sh -c '${dies}'\n`;
    for (const node of cluster.nodes) await node.breakKubelet(unit);
    const before = await kubelets(cluster);
    const files = cluster.nodes.map((node) => node.readFile("config.json")?.toString());
    await product.writeAdditional(cluster, product.documentOf(cluster, "five", "bad"));
    const event = await product.untilEvent(cluster, "RolloutHalted", /failed on 1 node/);
    assert.match(event.message, /correct the Secret/);
    const failed = cluster.nodes.findIndex(({ name }) => event.message.includes(`(${name})`));
    const spared = (list: readonly unknown[]): unknown[] =>
      list.filter((_, index) => index !== failed);
    assert.deepEqual(spared(await kubelets(cluster)), spared(before));
    assert.deepEqual(
      cluster.nodes.map((node) => node.readFile("config.json")?.toString()),
      files,
    );
  },
);

longTest(
  "restarts all kubelets at once for a corrected Secret when maxUnavailable is 100 %",
  async () => {
    await product.installProduct(cluster, {
      settings: { rollout: { maxUnavailable: "100%", probation: "8s" } },
    });
    const all = await change("good");
    assert.deepEqual(nodesOf(all), everyNode);
    assert.equal(mostAtOnce(all, probation), 3, JSON.stringify(all));
    for (const node of cluster.nodes)
      assert.deepEqual(Object.keys(auths(node)), [`${cluster.registry.host}/good`]);
  },
);
