/**
 * A Secret of the management cluster, delivered to a real kubelet of a workload cluster. The
 * cluster's own installation reads the Secret that the fleet places there. The fleet is done when
 * the node has proved the content.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as names from "#contract/names.ts";
import { stays, until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { pullSecret } from "../controller/plane.ts";
import { allAtOnce, auths, kubelets } from "../e2e/nodes.ts";
import { podOn, pullRefused, untilState as untilPod } from "../e2e/pods.ts";
import * as product from "../e2e/product.ts";
import * as fleet from "./fleet.ts";
import { fleetSecret, labelled, untilState } from "./fleet.ts";

const name = "fleet-pull-secret";
const its = ["-n", names.namespace];
const deployment = ["deployment/global-pull-secret-controller", ...its];

let home: fleet.Home;
let cluster: Cluster;
let controller: ReturnType<typeof fleet.startFleet> | undefined;

before(async () => {
  [home, cluster] = await Promise.all([fleet.startHome(), startCluster({ nodes: 1 })]);
  // Creates the right to read the source, as docs/use/sources.md describes. Without this right at
  // its first request, the controller would report Forbidden in status until its next request.
  const role = `global-pull-secret-source-${name}`;
  const asks = ["--verb=get,list,watch", "--resource=secrets", `--resource-name=${name}`];
  await cluster.kubectl("create", "role", role, ...its, ...asks);
  const account = `--serviceaccount=${names.namespace}:global-pull-secret-controller`;
  await cluster.kubectl("create", "rolebinding", role, ...its, `--role=${role}`, account);
  const rollout = { maxUnavailable: allAtOnce };
  const settings = { rollout, sources: [{ name: "fleet", secretRef: { name } }] };
  await product.installProduct(cluster, { settings });
});
after(async () => {
  await controller?.[Symbol.asyncDispose]();
  for (const startedCluster of [home?.cluster, cluster]) startedCluster?.down();
});

const [host, node] = [
  () => cluster.registry.host,
  () => cluster.nodes[0] ?? assert.fail("no node"),
];
const source = (user: "original" | "additional") =>
  home.cluster.apply(pullSecret("source-pull-secret", cluster.registry.document(user)));
/** The entry for the private registry in the node's own file. */
const onNode = () => auths(node())[host()]?.auth;
const entryOf = (user: "original" | "additional") => {
  const document = JSON.parse(cluster.registry.document(user)) as {
    auths: Record<string, { auth: string }>;
  };
  return document.auths[host()]?.auth;
};

test("lets a workload cluster's node pull with a Secret of the management cluster, and is done only after that node has the Secret", async () => {
  const image = await cluster.pushApp("team/app:1");
  await cluster.apply(podOn(node(), "app", image));
  await untilPod(cluster, "app", ...pullRefused);
  const before = await kubelets(cluster);

  // The workload cluster's own controller is stopped. Therefore the fleet places the Secret in the
  // cluster, but no node gets it.
  await cluster.kubectl("scale", ...deployment, "--replicas=0");
  const guest = await fleet.guestOf(cluster, `${names.namespace}/${name}`);
  await fleet.declareGuest(home, "guest-a", guest.kubeconfig, labelled);
  await home.cluster.apply(fleetSecret({ target: { name } }));
  controller = fleet.startFleet(home);
  await source("additional");
  await fleet.untilPlaced(guest, dataOf("additional"), undefined, name);
  await untilState(home, "guest-a", "Progressing", "GPS451");
  const isDone = async () => (await fleet.objectIn(home))?.status?.counts?.done === 1;
  await stays(
    "the fleet is not done",
    async () => !(await isDone()) && onNode() === undefined,
    4000,
  );

  await cluster.kubectl("scale", ...deployment, "--replicas=1");
  await until("the fleet is done", isDone, { timeout: 180_000, seen: () => fleet.objectIn(home) });
  assert.equal(onNode(), entryOf("additional"));
  assert.notDeepEqual(await kubelets(cluster), before, "no kubelet has read the file");
  await untilPod(cluster, "app", "Running");
});

test("is done with a rotation when the node has the new content, and removes the content from the node when the FleetSecret is deleted", async () => {
  await source("original");
  const version = async () =>
    (
      await home.cluster.get<{ metadata: { resourceVersion: string } }>(
        ...(["secret", "source-pull-secret", ...its] as const),
      )
    )?.metadata.resourceVersion;
  await until(
    "the fleet is done with this version",
    async () => {
      const { counts, sourceResourceVersion } = (await fleet.objectIn(home))?.status ?? {};
      return counts?.done === 1 && sourceResourceVersion === (await version());
    },
    { timeout: 120_000, seen: () => fleet.objectIn(home) },
  );
  assert.equal(onNode(), entryOf("original"));
  await home.cluster.kubectl("delete", "fleetsecret", "pull-secret", ...its, "--timeout=60s");
  await until("the node no longer has it", () => onNode() === undefined, { timeout: 120_000 });
});

const dataOf = (user: "original" | "additional") => ({
  ".dockerconfigjson": Buffer.from(cluster.registry.document(user)).toString("base64"),
});
