/** A later controller can finish a removal. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as names from "#contract/names.ts";
import { stays, until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { allAtOnce, auths, kubelets } from "./nodes.ts";
import { podOn, untilState } from "./pods.ts";
import * as product from "./product.ts";

let cluster: Cluster;

before(async () => {
  cluster = await startCluster();
  await product.installProduct(cluster, { settings: allAtOnce });
});
after(() => cluster?.down());

const holds = (index: number): boolean =>
  Object.keys(auths(cluster.nodes[index])).includes(cluster.registry.host);

async function deploy(): Promise<void> {
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  await until(
    "the Secret is published",
    async () => (await product.revision(cluster)) !== undefined,
  );
  await product.untilServed(cluster);
}

/**
 * Kills the agent with SIGKILL, sends SIGTERM to its successor in the moment of its start, and
 * prints whether the successor has ended five seconds later.
 */
const terminateYoung = `
  agent() { grep -l '/app/agent[.]cjs' /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3; }
  old=$(agent)
  kill -KILL "$old"
  while young=$(agent); [ -z "$young" ] || [ "$young" = "$old" ]; do :; done
  kill -TERM "$young"
  sleep 5
  [ -e "/proc/$young" ] && echo runs || echo ended`;

test("an agent ends at once if SIGTERM arrives before Node has loaded it", async () => {
  await deploy();
  const result = await cluster.nodes[0]?.exec(["sh", "-ec", terminateYoung]);
  assert.equal(result, "ended\n");
  await product.deleteAdditional(cluster);
  await product.untilRemoved(cluster);
});

test("H20, H21: the agents repair entries while no controller runs, and a later controller removes everything", async () => {
  await deploy();
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
  await stays("the entries stay on the nodes", stayed, 2000);
  await product.installProduct(cluster, { settings: allAtOnce });
  await product.untilRemoved(cluster);
  for (const index of [0, 1]) assert.ok(!holds(index));
});
