/** What tests read on nodes: the kubelet's process, config.json, and the agents' pods. */
import type { NodePullSecret } from "#api/node-pull-secret.ts";
import * as names from "#contract/names.ts";
import { until } from "../cluster/await.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Node } from "../cluster/node.ts";
import { leader } from "./leader.ts";

/** A text for each node, in the nodes' order, that changes if the node's kubelet is restarted. */
export async function kubelets(cluster: Cluster, unit = "kubelet.service"): Promise<string[]> {
  return await Promise.all(
    cluster.nodes.map(async (node) => (await node.unit(["InvocationID"], unit)).InvocationID),
  );
}

/** The entries of a node's config.json by registry. Empty if the file does not exist. */
export function auths(node: Node | undefined): Record<string, { auth: string }> {
  const file = node?.readFile("config.json")?.toString();
  return file === undefined
    ? {}
    : (JSON.parse(file) as { auths: Record<string, { auth: string }> }).auths;
}

/**
 * Inode, change time, mode and owner of config.json as a text, which changes if a program writes
 * the file. Empty if the file does not exist.
 */
export async function fileMark(node: Node): Promise<string> {
  return await node.exec([
    "sh",
    "-c",
    "stat -c '%i %Z %a %u:%g' /var/lib/kubelet/config.json 2>/dev/null || true",
  ]);
}

/** The kubelet's records of which pods are allowed to use an image of this repository. */
export async function pullRecords(node: Node, repository: string): Promise<unknown[]> {
  const all = await node.exec(["sh", "-c", "cat /var/lib/kubelet/image_manager/pulled/*"]);
  const records = all.replaceAll("}{", "}\n{").split("\n").filter(Boolean);
  return records.flatMap((text) => {
    const { credentialMapping = {} } = JSON.parse(text) as {
      credentialMapping?: Record<string, unknown>;
    };
    const [, record] =
      Object.entries(credentialMapping).find(([name]) => name.endsWith(`/${repository}`)) ?? [];
    return record === undefined ? [] : [record];
  });
}

export type AgentPodObject = Readonly<{
  metadata: {
    name: string;
    uid: string;
    creationTimestamp: string;
    deletionTimestamp?: string;
    annotations?: Record<string, string>;
  };
  spec: { nodeName: string; containers: { image: string; args: string[] }[] };
  status: {
    containerStatuses?: {
      ready: boolean;
      restartCount: number;
      state: { running?: { startedAt: string } };
    }[];
  };
}>;

export async function agents(cluster: Cluster): Promise<AgentPodObject[]> {
  const selector = `name=${names.agentName}`;
  const list = await cluster.get<{ items: AgentPodObject[] }>(
    "pods",
    "-n",
    names.namespace,
    "-l",
    selector,
  );
  return list?.items ?? [];
}

/** The agent's pod on a node; leaves out pods that are being deleted. */
export async function agentOn(cluster: Cluster, node: Node): Promise<AgentPodObject> {
  const pods = await agents(cluster);
  const agent = pods.find(
    ({ spec, metadata }) => spec.nodeName === node.name && metadata.deletionTimestamp === undefined,
  );
  if (agent === undefined) throw new Error(`there is no agent on ${node.name}`);
  return agent;
}

export async function agentLog(cluster: Cluster, node: Node): Promise<string> {
  const { name } = (await agentOn(cluster, node)).metadata;
  return await cluster.kubectl("logs", "-n", names.namespace, name);
}

/** The node's NodePullSecret; undefined if it does not exist. */
export async function nodeObject(
  cluster: Cluster,
  node: Node,
): Promise<NodePullSecret | undefined> {
  return await cluster.get<NodePullSecret>("nodepullsecret", node.name, "-n", names.namespace);
}

/**
 * In mode Reread the agent waits five minutes until the kubelet has read the file again. This
 * function moves the time in the node's journal back, as if these five minutes were over.
 * policies.long.test.ts tests the real wait.
 */
export async function skipRereadWait(node: Node, directory = "/var/lib/kubelet"): Promise<void> {
  const file = `${directory}/global-pull-secret/journal.json`;
  const read = async () =>
    JSON.parse((await node.exec(["sh", "-c", `cat ${file} 2>/dev/null || true`])) || "{}");
  const journal = await until("the agent waits for the kubelet", async () => {
    const present = await read();
    return present.phase === "resting" && present.written.boot !== "" ? present : undefined;
  });
  const written = { ...journal.written, monotonic: journal.written.monotonic - 305_000 };
  await node.exec(["tee", file], JSON.stringify({ ...journal, written }));
}

/**
 * The value of maxUnavailable that lets all nodes change at once, for tests in which the order of
 * the nodes does not matter.
 */
export const allAtOnce = "100%";

/**
 * All nodes. The node of the leading controller comes first, so that tests of other subjects can
 * leave this node running.
 */
export async function hostFirst(cluster: Cluster): Promise<Node[]> {
  const { host } = await leader(cluster);
  return cluster.nodes.toSorted((a, b) => Number(b.name === host) - Number(a.name === host));
}
