/**
 * Removal: nodes first, objects after, whoever dies meanwhile; it can be turned round, and finished
 * by hand.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { KubeConfig } from "@kubernetes/client-node";
import { connect } from "#kube/client/client.ts";
import * as names from "#contract/names.ts";
import { stays, until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { allowSeconds } from "../controller/steer.ts";
import { rolloutAndWithdrawalUnderKills, untouched } from "./kills.ts";
import { allAtOnce, auths, kubelets } from "./nodes.ts";
import { podOn, untilState } from "./pods.ts";
import * as product from "./product.ts";

let cluster: Cluster;

before(async () => {
  cluster = await startCluster();
  untouched(cluster);
  await product.installProduct(cluster, { wish: 1 });
});
after(() => cluster?.down());

const holds = (index: number): boolean =>
  Object.keys(auths(cluster.nodes[index])).includes(cluster.registry.host);

async function deploy(): Promise<number> {
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  await until("it is published", async () => (await product.revision(cluster)) !== undefined);
  const revision = (await product.revision(cluster)) ?? 0;
  await product.untilServed(cluster, revision);
  return revision;
}

test("H20, H21: a controller killed twice in a rollout and twice in a withdrawal comes to the same end: nodes first, objects after", async (context) => {
  await rolloutAndWithdrawalUnderKills(cluster, 2, context);
});

test("the Secret created again in mid-withdrawal turns it round", async () => {
  await product.installProduct(cluster, { wish: allAtOnce });
  const revision = await deploy();
  const uid = async () =>
    (
      await cluster.get<{ metadata: { uid: string } }>(
        "daemonset",
        names.agentName,
        "-n",
        names.namespace,
      )
    )?.metadata.uid;
  const before = await uid();
  await product.deleteAdditional(cluster);
  await until("the withdrawal has reached a node", () => !holds(0) || !holds(1), { every: 20 });
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  await product.untilServed(cluster, revision + 2);
  assert.equal(await uid(), before);
  for (const index of [0, 1]) assert.ok(holds(index));
});

test("without the controller's Deployment nodes go on: pulls, repairs, and a later controller removes all the same", async () => {
  const image = await cluster.pushApp("team/app:1");
  await cluster.kubectl(
    "delete",
    "deployment",
    "global-pull-secret-controller",
    "-n",
    names.namespace,
    "--cascade=foreground",
  );
  const before = await kubelets(cluster);
  const [node] = cluster.nodes;
  assert.ok(node);
  await cluster.apply(podOn(node, "app", image));
  await untilState(cluster, "app", "Running");
  node.writeFile("config.json", '{"auths":{}}');
  await until("our entry is back", () => holds(0));
  await product.rolledOut(cluster);
  assert.equal((await kubelets(cluster))[1], before[1]);
  await product.deleteAdditional(cluster);
  const stayed = async () =>
    holds(0) && holds(1) && (await product.revision(cluster)) !== undefined;
  await stays("nobody takes anything away", stayed, 2000);
  await product.installProduct(cluster, { wish: allAtOnce });
  await product.untilRemoved(cluster);
  for (const index of [0, 1]) assert.ok(!holds(index));
});

test("H20: a node that cannot give the entries back is waited for alone, and told with the command that finishes by hand", async () => {
  const [stuck, other] = cluster.nodes;
  assert.ok(stuck && other);
  // The definition forbids deadlines of seconds, and a minute would show no more.
  const admin = new KubeConfig();
  admin.loadFromFile(cluster.kubeconfig);
  await allowSeconds({ api: connect(admin, () => {}), cluster });
  await product.steerProduct(cluster, {
    rollout: { maxUnavailable: allAtOnce },
    withdrawal: { deadline: "10s" },
  });
  await deploy();
  // A file that no agent may replace, before there is anything to give back.
  await stuck.exec([
    "sh",
    "-c",
    "cd /var/lib/kubelet && mv config.json real.json && ln -s real.json config.json",
  ]);
  await product.deleteAdditional(cluster);
  const told = async () =>
    (await product.events(cluster)).find(
      ({ reason, message }) =>
        ["NodesAwaited", "RemovalOverdue"].includes(reason) &&
        message.includes(stuck.name) &&
        finish.test(message),
    );
  await until(`${other.name} has given them back`, () => !holds(1), { timeout: 120_000 });
  const event = await until("it is told with a command", told, {
    timeout: 120_000,
    seen: () => product.events(cluster),
  });
  assert.equal(event.type, "Warning");
  const kept = (await product.ourObjects(cluster)).filter((name) => !name.startsWith("pod/"));
  assert.equal(kept.length, 6, "the objects stay until then");
  const [, command = ""] = finish.exec(event.message) ?? [];
  await cluster.kubectl(...command.split(" "));
  await product.untilRemoved(cluster);
});

const finish = /: kubectl (annotate .*)$/;
