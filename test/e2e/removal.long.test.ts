/**
 * Removals while a kubelet fails without the credential, or the agent refuses to replace a file.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect } from "#kube/client/client.ts";
import { loadKubeConfig } from "#kube/load.ts";
import * as names from "#contract/names.ts";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { allowSeconds } from "../controller/steer.ts";
import { allAtOnce, auths } from "./nodes.ts";
import * as product from "./product.ts";

let cluster: Cluster;

before(async () => {
  cluster = await startCluster({ nodes: 4 });
  await product.installProduct(cluster, { settings: 1 });
});
after(() => cluster?.down());

test("H20: reports a kubelet that fails after a removal, and the command that finishes the removal without this node", async () => {
  const [stuck, ...others] = cluster.nodes;
  assert.ok(stuck);
  const { host } = cluster.registry;
  await product.installProduct(cluster, {
    settings: { rollout: { maxUnavailable: allAtOnce }, withdrawal: { deadline: "1m" } },
  });
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  await until("the Secret is published", async () => (await product.revision(cluster)) === 1);
  await product.untilServed(cluster);
  await stuck.breakKubelet(
    `[Service]\nExecStartPre=/bin/grep -q ${host} /var/lib/kubelet/config.json\n`,
  );
  await product.deleteAdditional(cluster);
  const overduePattern = new RegExp(
    `waiting for ${stuck.name};.*; to finish without them: kubectl (.*) \\[docs/`,
  );
  // The shortest deadline of a withdrawal is one minute, which is also the default timeout of a
  // wait. Therefore this wait has a longer timeout.
  const overdue = { timeout: 180_000 };
  const event = await product.untilEvent(cluster, "RemovalOverdue", overduePattern, overdue);
  for (const node of cluster.nodes) assert.ok(!(host in auths(node)), node.name);
  for (const node of others) assert.equal(await cluster.readiness(node), "True");
  const [, command = ""] = overduePattern.exec(event.message) ?? [];
  await cluster.kubectl(...command.split(" "));
  const its = ["daemonset", names.agentName, "-n", names.namespace];
  await until("the objects are gone", async () => (await cluster.get(...its)) === undefined);
  await stuck.healKubelet();
  await cluster.untilReady(stuck);
  await product.untilRemoved(cluster);
  assert.ok(!(host in auths(stuck)));
});

const finish = /: kubectl (annotate .*) \[docs\//;

test("H20: waits only for a node that cannot remove the entries, and reports the command that finishes without this node", async () => {
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
  // The revision is not 1: the node of the last test has a journal of a higher revision.
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
    // An Event of the last test names an earlier revision.
    const command = `/released=${await product.revision(cluster)} `;
    return (await product.events(cluster)).find(
      ({ reason, message }) =>
        ["NodesAwaited", "RemovalOverdue"].includes(reason) &&
        message.includes(stuck.name) &&
        message.includes(command),
    );
  };
  await until(
    `${other.name} has removed the entries`,
    () => !(cluster.registry.host in auths(other)),
    {
      timeout: 120_000,
    },
  );
  const event = await until("an Event names a command", overdueEvent, {
    timeout: 120_000,
    seen: () => product.events(cluster),
  });
  assert.equal(event.type, "Warning");
  const remaining = (await product.ourObjects(cluster)).filter((name) => !name.startsWith("pod/"));
  assert.equal(remaining.length, 6, "the objects stay until then");
  const [, command = ""] = finish.exec(event.message) ?? [];
  await cluster.kubectl(...command.split(" "));
  await product.untilRemoved(cluster);
});
