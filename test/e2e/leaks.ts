/** Searches for planted credentials in everything that the product shows to users. */
import assert from "node:assert/strict";
import * as names from "#contract/names.ts";
import type { Cluster } from "../cluster/cluster.ts";

const controller = [
  "-n",
  names.namespace,
  "-l",
  "app.kubernetes.io/name=global-pull-secret-controller",
];
const agents = ["-n", names.namespace, "-l", `name=${names.agentName}`];

/** A secret in a registry key, as if a user had pasted user, password and host there. */
const plantedInKey = "planted-in-a-registry-key";

/**
 * A document that the controller refuses because of one of its keys. The key contains a secret, so
 * an error message with the key would leak the secret.
 */
export const withSecretInKey = JSON.stringify({
  auths: { [`https://robot:${plantedInKey}@registry.corp`]: { auth: "%%%" } },
});

/**
 * Fails if a password is readable in any output: in plain text, in base64, or in the base64 of
 * user:password. The error names the output.
 */
export async function assertNoLeak(
  cluster: Cluster,
  ...users: readonly Readonly<Record<string, string>>[]
): Promise<void> {
  const pairs = users.flatMap((each) => Object.entries(each));
  const values = pairs.flatMap(([user, password]) => [
    password,
    base64(password),
    base64(`${user}:${password}`),
  ]);
  const planted = [...values, plantedInKey];
  for (const [place, text] of Object.entries(await allOutput(cluster))) {
    assert.ok(text.length > 50, `${place}: no text to search`);
    for (const credential of planted)
      assert.ok(!text.includes(credential), `a credential is in ${place}`);
  }
}

async function allOutput(cluster: Cluster): Promise<Record<string, string>> {
  const kinds = "events,pods,daemonsets,deployments,replicasets,controllerrevisions";
  const secret = await cluster.get<{ metadata: object }>(
    "secret",
    names.globalSecretName,
    "-n",
    names.namespace,
  );
  const state = await cluster.get<{ metadata: object }>(
    "secret",
    names.stateSecretName,
    "-n",
    names.namespace,
  );
  const pod = await cluster.kubectl(
    "get",
    "pods",
    ...controller,
    "-o",
    "jsonpath={.items[0].metadata.name}",
  );
  return {
    "the controller's log": await cluster.kubectl("logs", ...controller, "--tail=-1"),
    "the agents' logs": await logsOfAgents(cluster),
    "Events, termination messages, annotations": await cluster.kubectl(
      "get",
      kinds,
      "-A",
      "-o",
      "json",
    ),
    "the annotations of global-pull-secret": JSON.stringify(secret?.metadata),
    "the annotations of global-pull-secret-state": JSON.stringify(state?.metadata),
    metrics: await cluster.kubectl(
      "get",
      "--raw",
      `/api/v1/namespaces/${names.namespace}/pods/${pod}:8080/proxy/metrics`,
    ),
  };
}

/** Logs of the running containers, and of their previous instances. */
async function logsOfAgents(cluster: Cluster): Promise<string> {
  const pods = (await cluster.kubectl("get", "pods", ...agents, "-o", "name")).trim().split("\n");
  const logs = pods.flatMap((pod) => [
    cluster.kubectl("logs", "-n", names.namespace, pod),
    // kubectl fails if the container has no previous instance.
    cluster.kubectl("logs", "-n", names.namespace, pod, "--previous").catch(() => ""),
  ]);
  return (await Promise.all(logs)).join("");
}

/** Base64 without padding, so that the text is also found inside longer base64. */
function base64(text: string): string {
  return Buffer.from(text).toString("base64").replaceAll("=", "");
}
