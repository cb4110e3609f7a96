/**
 * Tests flags and policies that an administrator sets, on one node. This node's kubelet runs in
 * another unit and uses another directory than a kubelet that kubeadm set up.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import * as names from "#contract/names.ts";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import type { Node } from "../cluster/node.ts";
import { agentOn, allAtOnce, kubelets, skipRereadWait } from "./nodes.ts";
import * as product from "./product.ts";

let cluster: Cluster;
let node: Node;
const unit = "k3s.service";
const directory = "/var/lib/rancher/kubelet";
const settings = {
  conflictPolicy: "PreferOriginal",
  rollout: { maxUnavailable: allAtOnce },
} as const;

before(async () => {
  cluster = await startCluster({ nodes: 1 });
  [node] = cluster.nodes as [Node];
  await likeK3s(node);
  await writeSecret("pull-secret", {
    [cluster.registry.host]: cluster.registry.auth("original"),
    "platform.example": { auth: "cGxhdGZvcm06b25l" },
  });
  const original = "original=kube-system/pull-secret";
  const args = [
    `--${original}`,
    "--protect=platform.example",
    "--restart-control-plane=Always",
    `--kubelet-directory=${directory}`,
  ];
  await product.installProduct(cluster, { args, values: [original], settings });
});
after(() => cluster?.down());

/**
 * Makes the kubelet a part of k3s.service with its own root directory. kubelet.service no longer
 * exists.
 */
async function likeK3s(node: Node): Promise<void> {
  const script = `
    systemctl stop kubelet.service
    sed 's|^ExecStart=.*|& --root-dir=${directory}|' /etc/systemd/system/kubelet.service > /etc/systemd/system/${unit}
    rm /etc/systemd/system/kubelet.service
    mkdir -p ${directory}
    systemctl daemon-reload
    systemctl start ${unit}`;
  await node.exec(["sh", "-ec", script]);
  await until(
    "the kubelet answers",
    async () =>
      (await node.exec(["busybox", "wget", "-qO-", "http://127.0.0.1:10248/healthz"])) === "ok",
  );
  await cluster.untilReady(node);
}

async function writeSecret(name: string, auths: object): Promise<void> {
  await cluster.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace: names.namespace },
    type: names.secretType,
    data: {
      [names.secretKeys.document]: Buffer.from(JSON.stringify({ auths })).toString("base64"),
    },
  });
}

async function fileOf(): Promise<unknown> {
  return (JSON.parse(await node.exec(["cat", `${directory}/config.json`])) as { auths: unknown })
    .auths;
}

const kubelet = async () => (await kubelets(cluster, unit))[0];
const platform = { "platform.example": { auth: "cGxhdGZvcm06b25l" } };

test("reports all wrong flags at once, with valid values", () => {
  const argv = [
    "--restart-control-plane=Sometimes",
    "--restart=Never",
    "--kubelet-unit=kubelet",
    "--kubelet-directory=kubelet",
  ];
  const bundle = join(import.meta.dirname, "../../dist/controller.cjs");
  const { status, stderr, stdout } = spawnSync(process.execPath, [bundle, ...argv], {
    encoding: "utf8",
  });
  assert.deepEqual([status, stdout], [2, ""]);
  assert.deepEqual(stderr.trim().split("\n").toSorted(), [
    '--kubelet-directory "kubelet": is not an absolute path of a directory without . and ..',
    '--kubelet-unit "kubelet": is not a systemd service; give auto, or a name such as kubelet.service',
    '--restart-control-plane "Sometimes": is not one of the choices; give Always, Never',
    "--restart: is not a flag; --help names all",
  ]);
});

test("H17: finds the kubelet in another unit and directory, and follows a policy that prefers the original's entries", async () => {
  const first = await kubelet();
  await writeSecret(names.additionalSecretName, {
    [cluster.registry.host]: cluster.registry.auth("additional"),
    "other.example": { auth: "b3RoZXI6b25l" },
  });
  await product.untilServed(cluster);
  assert.deepEqual(await fileOf(), {
    [cluster.registry.host]: cluster.registry.auth("original"),
    "other.example": { auth: "b3RoZXI6b25l" },
    ...platform,
  });
  assert.notEqual(await kubelet(), first, "the kubelet was restarted");
  assert.equal(node.readFile("config.json"), undefined, "nothing is in the usual directory");
});

test("delivers a change and a removal without a kubelet restart after mode Reread is set", async () => {
  const first = await kubelet();
  const served = (await product.revision(cluster)) ?? 0;
  const { uid } = (await agentOn(cluster, node)).metadata;
  await product.steerProduct(cluster, { ...settings, delivery: { mode: "Reread" } });
  await until(
    "another agent is there",
    async () => (await agentOn(cluster, node)).metadata.uid !== uid,
  );
  // The newer revision has the same content. Only the mode differs: Reread.
  const reread = await product.untilServed(cluster, served);
  await writeSecret(names.additionalSecretName, { "third.example": { auth: "dGhpcmQ6b25l" } });
  await skipRereadWait(node, directory);
  await product.untilServed(cluster, reread);
  assert.ok("third.example" in ((await fileOf()) as object));
  await product.deleteAdditional(cluster);
  await product.untilRemoved(cluster);
  assert.equal(
    await node.exec(["sh", "-c", `ls -A ${directory} | grep -E 'config|global' || true`]),
    "",
  );
  assert.equal(await kubelet(), first);
});
