/**
 * Controller and agents come from a registry that requires a password. The agents use the same pull
 * secrets as the controller. The tests also show which parts of the agents' pods an installer can
 * change.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import * as names from "#contract/names.ts";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { buildImage } from "../cluster/kit/image.ts";
import type { Node } from "../cluster/node.ts";
import { agentOn, agents, allAtOnce, fileMark, kubelets } from "./nodes.ts";
import * as product from "./product.ts";

let cluster: Cluster;
let [first, second]: Node[] = [];
/** The image reference in the controller's Deployment. */
let image: string;
const pullSecret = "regcred";

before(async () => {
  cluster = await startCluster();
  [first, second] = cluster.nodes;
  image = await buildImage(cluster, { tag: "1", host: cluster.registry.host });
});
after(() => cluster?.down());

type Pod = {
  spec: {
    imagePullSecrets?: { name: string }[];
    priorityClassName: string;
    containers: { image: string; resources: object }[];
    initContainers?: { image: string }[];
  };
  metadata: { labels: Record<string, string> };
};

async function podOn(node: Node | undefined): Promise<Pod> {
  assert.ok(node);
  return (await agentOn(cluster, node)) as unknown as Pod;
}

test("K11: pulls the agents' image as the Deployment names it, with the pull secrets of the controller", async () => {
  await cluster.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: pullSecret, namespace: names.namespace },
    type: names.secretType,
    stringData: { [names.secretKeys.document]: cluster.registry.document("original") },
  });
  const options = { image, imagePullSecrets: [pullSecret], settings: allAtOnce };
  await product.installProduct(cluster, options);
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  await product.untilServed(cluster);
  for (const node of cluster.nodes) {
    const { spec } = await podOn(node);
    assert.deepEqual(spec.imagePullSecrets, [{ name: pullSecret }]);
    for (const container of [...spec.containers, ...(spec.initContainers ?? [])])
      assert.equal(container.image, image);
  }
  const pulled = cluster.registry
    .accesses()
    .filter(({ path }) => path.includes("/global-pull-secret/manifests/"));
  assert.ok(pulled.some(({ user }) => user === "original"));
});

test("restarts no kubelet and writes no file when the installer changes the agents' pods", async () => {
  const marks = async () => [await kubelets(cluster), await fileMark(first as Node)];
  const before = await marks();
  const args = [
    "--agent-label=team=platform",
    "--agent-limits=memory=128Mi",
    "--agent-priority-class=system-cluster-critical",
    `--agent-node-selector=kubernetes.io/hostname in (${first?.name})`,
  ];
  const running = { image: `${image.split(":")[0]}:2`, imagePullSecrets: [pullSecret] };
  assert.equal(await buildImage(cluster, { tag: "2", host: cluster.registry.host }), running.image);
  await product.installProduct(cluster, { ...running, args, settings: allAtOnce });
  await until(
    "exactly one agent exists, and has the label",
    async () =>
      (await agents(cluster)).length === 1 && (await podOn(first)).metadata.labels["team"],
    { timeout: 60_000, seen: () => agents(cluster) },
  );
  await product.untilServed(cluster);
  const { spec } = await podOn(first);
  assert.equal(spec.containers[0]?.image, running.image);
  assert.match(JSON.stringify(spec.containers[0]?.resources), /"limits":\{"memory":"128Mi"\}/);
  assert.equal(spec.priorityClassName, "system-cluster-critical");
  assert.deepEqual(await marks(), before);
  await until("status does not list the node without an agent", async () => {
    const { status } = (await cluster.get<GlobalPullSecret>("gps", "cluster")) ?? {};
    const is = (type: string) =>
      status?.conditions?.find((condition) => condition.type === type)?.status;
    return is("Ready") === "True" && is("NodesLeftOut") === "False" && status?.nodes?.desired === 1;
  });
});

test("finishes a withdrawal although one node gets no agent, and does not change this node's file", async () => {
  await product.deleteAdditional(cluster);
  await product.untilRemoved(cluster);
  assert.equal(first?.readFile("config.json"), undefined);
  assert.match(second?.readFile("config.json")?.toString() ?? "", /registry\.example/);
});
