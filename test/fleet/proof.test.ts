/**
 * A fleet is done when nodes have proved the content. In one cluster, a controller of the product,
 * with the rights of manifests/, reads the target; the other cluster has no controller. Both API
 * servers are real, the nodes are fake.
 */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { auditOf } from "../cluster/audit.ts";
import { stays, until } from "../cluster/await.ts";
import { NodesDriver } from "#test/harness/nodes/drive.ts";
import * as plane from "../controller/plane.ts";
import { document, pullSecret } from "../controller/plane.ts";
import { steer, untilCondition, type Settings } from "../controller/steer.ts";
import * as fleet from "./fleet.ts";
import { fleetSecret, labelled, untilPlaced, untilState } from "./fleet.ts";

const name = "fleet-pull-secret";
const target = `kube-system/${name}`;
let home: fleet.Home;
let on: plane.Plane;
let kubelets: NodesDriver;
let proving: fleet.GuestCluster;
let plain: fleet.GuestCluster;
const running: AsyncDisposable[] = [];

before(async () => {
  [home, on, plain] = await Promise.all([
    fleet.startHome(),
    plane.startPlane(),
    fleet.startGuest(target),
  ]);
  proving = await fleet.guestOf(on.cluster, target);
  kubelets = new NodesDriver(on.api).start();
  for (const node of ["a", "b", "c"]) await kubelets.add(node);
  await on.cluster.apply(...readRights);
});
after(async () => {
  await kubelets?.[Symbol.asyncDispose]();
  for (const member of [home, plain]) member?.cluster.down();
  await on?.[Symbol.asyncDispose]();
});
afterEach(async () => {
  for (const disposable of running.splice(0)) await disposable[Symbol.asyncDispose]();
  kubelets.behaviour = () => "ready";
  await fleet.clear(home, [proving, plain], name);
  await plane.wipe(on);
  await plane.freeLease(on);
});

/** Role and RoleBinding with which the controller can read a source, from docs/use/sources.md. */
const its = { name: "fleet-source", namespace: "kube-system" };
const group = "rbac.authorization.k8s.io";
const readRights = [
  {
    apiVersion: `${group}/v1`,
    kind: "Role",
    metadata: its,
    rules: [
      {
        apiGroups: [""],
        resources: ["secrets"],
        resourceNames: [name],
        verbs: ["get", "list", "watch"],
      },
    ],
  },
  {
    apiVersion: `${group}/v1`,
    kind: "RoleBinding",
    metadata: its,
    roleRef: { apiGroup: group, kind: "Role", name: its.name },
    subjects: [
      {
        kind: "ServiceAccount",
        name: "global-pull-secret-controller",
        namespace: "kube-system",
      },
    ],
  },
];

const dataOf = (word: string) => ({
  ".dockerconfigjson": Buffer.from(document({ "quay.io": `robot:${word}` })).toString("base64"),
});
const source = (word: string) =>
  home.cluster.apply(pullSecret("source-pull-secret", document({ "quay.io": `robot:${word}` })));
const placedIn = (guest: fleet.GuestCluster, word: string) =>
  untilPlaced(guest, dataOf(word), undefined, name);

/**
 * Adds the target to the proving cluster's sources, and starts that cluster's controller and the
 * fleet's controller. The proving cluster is the canary.
 */
async function begin(
  settings: Exclude<Settings, number | string>,
  spec: Parameters<typeof fleetSecret>[0] = {},
) {
  await steer(on, { sources: [{ name: "fleet", secretRef: { name } }], ...settings });
  running.push(plane.startController(on.kubeconfig));
  await fleet.declareGuest(home, "guest-a", proving.kubeconfig, labelled);
  await fleet.declareGuest(home, "guest-b", plain.kubeconfig, labelled);
  const canaries = { matchLabels: { "kubernetes.io/metadata.name": "guest-a" } };
  const rollout = { canaries, ...spec.rollout };
  await home.cluster.apply(fleetSecret({ target: { name }, ...spec, rollout }));
  const since = new Date().toISOString();
  running.push(fleet.startFleet(home));
  // The first cluster is one that answers. Therefore the test creates content only after the
  // controller has read both clusters, and the GlobalPullSecret of the proving cluster.
  for (const { cluster } of [proving, plain])
    await until("the cluster got a request", () => {
      const ours = auditOf(cluster, { since }).filter(
        ({ userAgent }) => userAgent === "global-pull-secret-fleet",
      );
      const asked = new Set(ours.map(({ resource }) => resource));
      return asked.has("secrets") && (cluster === plain.cluster || asked.has("globalpullsecrets"));
    });
}

test("delivers the content to other clusters only after the first cluster's nodes have it, and sends no request that an API server forbids", async () => {
  const since = new Date().toISOString();
  kubelets.behaviour = (_, revision) => (revision > 0 ? "hangs" : "ready");
  await begin({});
  await source("1");
  await placedIn(proving, "1");
  await untilState(home, "guest-a", "Progressing", "GPS451");
  await stays(
    "the other cluster waits",
    async () => (await fleet.targetIn(plain, name)) === undefined,
    4000,
  );
  assert.equal((await fleet.objectIn(home))?.status?.summary, "0/2");
  kubelets.behaviour = () => "ready";
  await untilState(home, "guest-a", "Done");
  await placedIn(plain, "1");
  // No installation in guest-b lists the Secret as a source, so its nodes do not have the Secret.
  await untilState(home, "guest-b", "Waiting", "GPS454");
  const served = await on.api.get<{ status?: { sources?: object[] } }>(
    "/apis/globalpullsecret.io/v1alpha1/globalpullsecrets/cluster",
  );
  const version = (await fleet.targetIn(proving, name))?.metadata?.resourceVersion;
  assert.partialDeepStrictEqual(
    served?.status?.sources?.find(
      (statusSource) => "name" in statusSource && statusSource.name === "fleet",
    ),
    {
      servedResourceVersion: version,
    },
  );
  const refused = [proving, plain].flatMap(({ cluster }) =>
    auditOf(cluster, { since }).filter(
      ({ userAgent, code }) => userAgent === "global-pull-secret-fleet" && code === 403,
    ),
  );
  assert.deepEqual(refused, []);
});

test("halts when nodes fail in a fleet that allows no failure, stays halted in a new process, and continues with corrected content", async () => {
  kubelets.behaviour = (_, revision) =>
    revision > 0 ? "GPS203 restarting the kubelet failed" : "ready";
  await begin({}, { rollout: { maxFailures: 0 } });
  await source("1");
  await untilCondition(on, "Stalled", "True", "Halted", 120_000);
  await untilState(home, "guest-a", "Failed", "GPS453");
  const halted = async () => {
    const conditions = (await fleet.objectIn(home))?.status?.conditions;
    return conditions?.find(({ type }) => type === "Stalled")?.reason === "Halted";
  };
  await until("the fleet is Stalled", halted);
  await running.pop()?.[Symbol.asyncDispose]();
  running.push(fleet.startFleet(home));
  await stays(
    "the other cluster has nothing",
    async () => (await fleet.targetIn(plain, name)) === undefined && (await halted()),
    4000,
  );
  kubelets.behaviour = () => "ready";
  await source("2");
  await untilState(home, "guest-a", "Done");
  await placedIn(plain, "2");
});

test("with maxUnavailable 100%, waits for no cluster whose nodes hang, and is done when its nodes have the content", async () => {
  kubelets.behaviour = (_, revision) => (revision > 0 ? "hangs" : "ready");
  await begin({}, { rollout: { maxUnavailable: "100%" } });
  await source("1");
  await placedIn(plain, "1");
  await untilState(home, "guest-a", "Progressing", "GPS451");
  kubelets.behaviour = () => "ready";
  await untilState(home, "guest-a", "Done");
});

test("delays no other cluster while a cluster's own installation is paused, and is done when that installation resumes", async () => {
  await begin({ managementState: "Paused" });
  await source("1");
  await placedIn(plain, "1");
  await untilState(home, "guest-a", "Waiting", "GPS452");
  await steer(on, { sources: [{ name: "fleet", secretRef: { name } }] });
  await untilState(home, "guest-a", "Done");
});

test("waits for a cluster whose GlobalPullSecret the fleet has no right to read, shows the command that grants this right, and delays no other cluster", async () => {
  const binding = ["clusterrolebinding", "global-pull-secret-fleet"];
  const saved = await on.cluster.get<object>(...binding);
  await on.cluster.kubectl("delete", ...binding);
  await begin({});
  await source("1");
  await placedIn(plain, "1");
  await untilState(home, "guest-a", "Waiting", "GPS455");
  await on.cluster.apply(saved ?? assert.fail("no binding"));
  await untilState(home, "guest-a", "Done");
});
