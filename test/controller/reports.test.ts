/**
 * The policy `global-pull-secret-nodes` on a real API server: a report can come only from an agent
 * on the node that it is about. It is part of the proof
 * (docs/inside/decisions/admission-bounds.md).
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as names from "#contract/names.ts";
import { role, roleBinding, serviceAccount } from "#controller/objects/daemonset.ts";
import { ApiError } from "#kube/client/api-error.ts";
import { connect } from "#kube/client/client.ts";
import type { Replacing as Api } from "#kube/client/cluster.ts";
import { collections } from "#kube/client/paths.ts";
import { loadKubeConfig } from "#kube/load.ts";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { kustomized } from "../install/kustomize.ts";
import { writeKubeconfig } from "./plane/start.ts";

const its = ["-n", names.namespace] as const;
const controller = "global-pull-secret-controller";
let cluster: Cluster;
let admin: Api;
/** A client with the token of the agent on node a. */
let agent: Api;

before(async () => {
  cluster = await startCluster({ nodes: 0, apiOnly: true });
  admin = connect(loadKubeConfig(cluster.kubeconfig), () => {});
  await cluster.apply(serviceAccount, role, roleBinding);
  await cluster.apply(...(await kustomized({ resources: ["."] })));
  await cluster.untilServed("nodepullsecrets.globalpullsecret.io");
  for (const name of ["a", "b"]) {
    await cluster.apply({ apiVersion: "v1", kind: "Node", metadata: { name } });
    await cluster.apply({
      apiVersion: "globalpullsecret.io/v1alpha1",
      kind: "NodePullSecret",
      metadata: { name, namespace: names.namespace },
      spec: { revision: 1, digest: "d", attempt: 1 },
    });
  }
  const containers = [{ name: "agent", image: "a.example/b:1" }];
  await cluster.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "agent-a", namespace: names.namespace },
    spec: { serviceAccountName: names.agentName, nodeName: "a", containers },
  });
  const bound = ["--bound-object-kind=Pod", "--bound-object-name=agent-a"];
  agent = await clientOf(names.agentName, ...bound);
  await until("the policy is in force", async () => (await reported(agent, "b")) !== "");
});
after(() => cluster?.down());

async function clientOf(account: string, ...bound: readonly string[]): Promise<Api> {
  const token = (await cluster.kubectl("create", "token", account, ...its, ...bound)).trim();
  const file = writeKubeconfig(cluster, account, cluster.server, token);
  return connect(loadKubeConfig(file), () => {});
}

const pathOf = (node: string) => `${collections.nodePullSecrets}/${node}`;

/** The API server's denial; empty if it accepts the request. */
async function refusal(asked: Promise<unknown>): Promise<string> {
  return await asked.then(
    () => "",
    (error: unknown) => {
      if (error instanceof ApiError && error.status === 403) return error.message;
      throw error;
    },
  );
}

const listed = (client: Api, path: string, query = {}) =>
  refusal(client.pages(path, query, () => {}));

/** As this client, reports about the node. */
async function reported(client: Api, node: string): Promise<string> {
  const { metadata } = (await admin.get<typeof serviceAccount>(pathOf(node))) ?? assert.fail();
  const { uid = "", resourceVersion = "" } = metadata ?? {};
  const status = { revision: 1, digest: "d", attempt: 1, result: "Proved" };
  const body = { metadata: { uid, resourceVersion }, status };
  return await refusal(client.patch(`${pathOf(node)}/status`, body));
}

test("H23: lets an agent report about its own node, and about no other", async () => {
  assert.equal(await reported(agent, "a"), "");
  assert.match(await reported(agent, "b"), /the token is of node a, not of b/);
});

test("H23: lets no agent read another Secret, or a NodePullSecret by name", async () => {
  assert.equal(await listed(agent, collections.nodePullSecrets), "");
  const query = { fieldSelector: `metadata.name=${names.globalSecretName}` };
  assert.equal(await listed(agent, collections.secrets, query), "");
  assert.notEqual(await listed(agent, collections.secrets), "");
  assert.notEqual(await refusal(agent.get(pathOf("a"))), "");
});

test("accepts no report with a token that is not of a pod", async () => {
  const anyone = await clientOf(names.agentName);
  assert.match(await reported(anyone, "a"), /the token is of node , not of a/);
});

test("accepts no report of the controller, which has the right in order to grant it", async () => {
  const client = await clientOf(controller);
  const message = await reported(client, "a");
  assert.match(message, /the controller never writes it/);
  assert.equal(await listed(client, collections.nodePullSecrets), "");
});

test("lets an agent write nothing but its report, even with every right", async () => {
  const subject = `--serviceaccount=${names.namespace}:${names.agentName}`;
  await cluster.kubectl(
    "create",
    "clusterrolebinding",
    "all",
    "--clusterrole=cluster-admin",
    subject,
  );
  const { metadata } = (await admin.get<typeof serviceAccount>(pathOf("a"))) ?? assert.fail();
  const { uid = "", resourceVersion = "" } = metadata ?? {};
  const patch = { metadata: { uid, resourceVersion }, spec: { revision: 2 } };
  await until("the right is in force", async () => (await agent.get(pathOf("a"))) !== undefined);
  const denial = /agents write only the status/;
  assert.match(await refusal(agent.patch(pathOf("a"), patch)), denial);
  assert.match(await refusal(agent.remove(pathOf("a"), uid)), denial);
});
