/** A removal while an agent refuses to replace a file. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect } from "#kube/client/client.ts";
import { loadKubeConfig } from "#kube/load.ts";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { allowSeconds } from "../controller/steer.ts";
import { allAtOnce, auths } from "./nodes.ts";
import * as product from "./product.ts";

let cluster: Cluster;

before(async () => {
  cluster = await startCluster({ nodes: 2 });
  await product.installProduct(cluster, { settings: 1 });
});
after(() => cluster?.down());

test("H20: waits only for a node that cannot remove the entries, and ends by its number without this node", async () => {
  const [stuck, other] = cluster.nodes;
  assert.ok(stuck && other);
  // Changes the CRD to allow deadlines of seconds, because longer deadlines would prove nothing
  // more.
  const admin = loadKubeConfig(cluster.kubeconfig);
  await allowSeconds({ api: connect(admin, () => {}), cluster });
  await product.steerProduct(cluster, {
    rollout: { maxUnavailable: allAtOnce },
    withdrawal: { deadline: "10s" },
  });
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  for (const node of cluster.nodes)
    await until(`${node.name} has the entry`, () => cluster.registry.host in auths(node), {
      timeout: 120_000,
    });
  await product.rolledOut(cluster);
  // Makes config.json a symbolic link, which the agent never replaces.
  await stuck.exec([
    "sh",
    "-c",
    "cd /var/lib/kubelet && mv config.json real.json && ln -s real.json config.json",
  ]);
  await product.deleteAdditional(cluster);
  const overdueEvent = async () => {
    const removal = `removal ${await product.revision(cluster)} `;
    return (await product.events(cluster)).find(
      ({ reason, message }) =>
        ["NodesAwaited", "RemovalOverdue"].includes(reason) &&
        message.includes(stuck.name) &&
        message.includes(removal),
    );
  };
  await until(
    `${other.name} has removed the entries`,
    () => !(cluster.registry.host in auths(other)),
    {
      timeout: 120_000,
    },
  );
  const event = await until("an Event names the removal", overdueEvent, {
    timeout: 120_000,
    seen: () => product.events(cluster),
  });
  assert.equal(event.type, "Warning");
  const remaining = (await product.ourObjects(cluster)).filter((name) => !name.startsWith("pod/"));
  assert.equal(remaining.length, 6 + cluster.nodes.length, "the objects stay until then");
  const secret = ["secret", "global-pull-secret", "-n", "kube-system", "--overwrite"];
  const released = `globalpullsecret.io/released=${await product.revision(cluster)}`;
  await cluster.kubectl("annotate", ...secret, released);
  // It shows that this node might still have the entries.
  const last = `nodepullsecret/${stuck.name}`;
  await until(
    "only the object of the stuck node is left",
    async () => (await product.ourObjects(cluster)).join(" ") === last,
    { timeout: 120_000, seen: () => product.ourObjects(cluster) },
  );
});
