/** etcd is away, the API server is overloaded, or another client writes the same objects. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as names from "#contract/names.ts";
import { connect } from "#kube/client/client.ts";
import { collections } from "#kube/client/paths.ts";
import { loadKubeConfig } from "#kube/load.ts";
import { stays, until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { controllerRequests } from "./audit.ts";
import { auths } from "./nodes.ts";
import { starts } from "./outage.ts";
import * as product from "./product.ts";
import { saturate } from "./apf-saturation.ts";

let cluster: Cluster;

before(async () => {
  cluster = await startCluster();
  await product.installProduct(cluster, { settings: 1 });
});
after(() => cluster?.down());

const now = () => new Date().toISOString();
const written = (name: string) => JSON.stringify({ auths: { [name]: { auth: "dTpw" } } });

test("rolls out each change once when etcd restarts and other clients write the nodes' objects", async () => {
  const before = await starts(cluster);
  const since = now();
  await product.writeAdditional(cluster, written("first.example"));
  await until("the DaemonSet is there", () =>
    cluster.get("daemonset", names.agentName, "-n", names.namespace),
  );
  const restarted = cluster.stopEtcd().then(() => cluster.startEtcd());
  const over = new AbortController();
  const conflict = () => controllerRequests(cluster, since).some(({ code }) => code === 409);
  const admin = connect(loadKubeConfig(cluster.kubeconfig), () => {});
  const annotate = (name: string, round: number) => {
    const metadata = { name, annotations: { round: String(round) } };
    const how = { manager: "somebody", force: true };
    return admin.apply(
      `${collections.nodePullSecrets}/${name}`,
      { apiVersion: "globalpullsecret.io/v1alpha1", kind: "NodePullSecret", metadata },
      how,
    );
  };
  // Writes each object many times a second, so that the last write is newer than what the
  // controller has read. Then the controller's next patch of this object conflicts (409). A request
  // fails while etcd is away.
  const somebody = async () => {
    while (!over.signal.aborted && !conflict()) {
      for (let round = 0; round < 20; round += 1)
        await Promise.allSettled(cluster.nodes.map(({ name }) => annotate(name, round)));
    }
  };
  const others = somebody();
  await restarted;
  // Changes the Secret until a write of the controller has met a conflict: at least two changes, at
  // most six, because the timing is random.
  let served = 0;
  for (let change = 1; change <= 2 || (change <= 6 && !conflict()); change++) {
    if (change > 1) await product.writeAdditional(cluster, written(`change${change}.example`));
    served = await product.untilServed(cluster, served);
    assert.deepEqual(
      await starts(cluster),
      before.map((count) => count + change),
    );
    const last = change > 1 ? `change${change}.example` : "first.example";
    for (const node of cluster.nodes) assert.deepEqual(Object.keys(auths(node)), [last]);
  }
  over.abort();
  await others;
  assert.ok(conflict(), "no write met a conflict, so this test proved nothing");
});

test("sends few requests while the API server answers 429, and delivers the change afterwards", async () => {
  const api = "flowcontrol.apiserver.k8s.io/v1";
  const subject = {
    kind: "ServiceAccount",
    serviceAccount: { name: "global-pull-secret-controller", namespace: names.namespace },
  };
  const holder = "saturating";
  const everything = {
    verbs: ["*"],
    apiGroups: ["*"],
    resources: ["*"],
    namespaces: ["*"],
    clusterScope: true,
  };
  await cluster.apply(
    {
      apiVersion: api,
      kind: "PriorityLevelConfiguration",
      metadata: { name: "nothing-for-you" },
      spec: {
        type: "Limited",
        limited: {
          nominalConcurrencyShares: 0,
          lendablePercent: 0,
          borrowingLimitPercent: 0,
          limitResponse: { type: "Reject" },
        },
      },
    },
    {
      apiVersion: api,
      kind: "FlowSchema",
      metadata: { name: "nothing-for-you" },
      spec: {
        matchingPrecedence: 2,
        priorityLevelConfiguration: { name: "nothing-for-you" },
        rules: [
          {
            subjects: [subject, { kind: "User", user: { name: holder } }],
            resourceRules: [everything],
          },
        ],
      },
    },
  );
  using saturation = await saturate(cluster, holder);
  const refused = (since = "") =>
    controllerRequests(cluster, since).filter(({ code }) => code === 429).length;
  await until(
    "the rule is in force",
    async () => {
      await product.writeAdditional(cluster, written(`${Date.now()}.example`));
      return refused() > 0;
    },
    { every: 500 },
  );
  const since = now();
  await product.writeAdditional(cluster, written("third.example"));
  // The controller's loop sends one request in each try. The pauses between tries are 1, 2, 4 and 8
  // s (Retry-After is 1 s). The controllers also send a list for each watch that has ended.
  await stays("the controllers send at most 40 requests", () => refused(since) <= 40, 8000, 1000);
  assert.ok(refused(since) <= 40, `${refused(since)} requests in 8 s`);
  saturation[Symbol.dispose]();
  await cluster.kubectl(
    "delete",
    "flowschema/nothing-for-you",
    "prioritylevelconfiguration/nothing-for-you",
  );
  await until(
    "the change arrives",
    () => cluster.nodes.every((node) => "third.example" in auths(node)),
    {
      timeout: 120_000,
    },
  );
});
