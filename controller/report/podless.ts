/**
 * Why nodes have no agent. A DaemonSet has no condition for pods that cannot be created (Pod
 * Security, a quota, a webhook): its controller tells it in Events only.
 */
import type { CoreV1Event, V1DaemonSet } from "@kubernetes/client-node";
import { namespace, agentName } from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections } from "#kube/client/paths.ts";

/**
 * Seconds for which a node may lack an agent: between a pod's deletion and its successor's creation
 * it has none, for a second or two.
 */
const patienceSeconds = 10;
/**
 * Seconds between two reads of Events. The API server keeps no index of Events by their object, so
 * each list reads all of the namespace.
 */
const pauseSeconds = 30;

/** Nodes that have long been without an agent, and the latest Event about it. */
export type Podless = Readonly<{ count: number; quoted: string | undefined }>;

/**
 * Counts nodes without an agent. It asks the cluster only while there are any, and never rejects.
 */
export function podlessClock(
  cluster: Cluster,
  now: () => Date,
): (live: V1DaemonSet | undefined) => Promise<Podless | undefined> {
  let since: number | undefined;
  let asked = 0;
  let quoted: string | undefined;
  return async (live) => {
    const { desiredNumberScheduled = 0, currentNumberScheduled = 0 } = live?.status ?? {};
    const count = desiredNumberScheduled - currentNumberScheduled;
    const time = now().getTime() / 1000;
    if (live === undefined || count <= 0) {
      [since, asked, quoted] = [undefined, 0, undefined];
      return undefined;
    }
    since ??= time;
    if (time - since < patienceSeconds) return undefined;
    if (time - asked >= pauseSeconds) {
      asked = time;
      quoted = await lastWord(cluster, live.metadata?.uid ?? "").catch(() => quoted);
    }
    return { count, quoted };
  };
}

async function lastWord(cluster: Cluster, uid: string): Promise<string | undefined> {
  const of = { kind: "DaemonSet", name: agentName, namespace, uid };
  const about = Object.entries(of).map(([key, value]) => `involvedObject.${key}=${value}`);
  let latest: { time: number; message: string } | undefined;
  const query = { fieldSelector: ["reason=FailedCreate", ...about].join() };
  await cluster.pages<CoreV1Event>(collections.events, query, (items) => {
    for (const { lastTimestamp, eventTime, message = "" } of items) {
      const time = Date.parse(String(lastTimestamp ?? eventTime));
      if (latest === undefined || time >= latest.time) latest = { time, message };
    }
  });
  // The name of each try differs. With it in the message, each would be another Event.
  return latest?.message
    .replaceAll(new RegExp(`${agentName}-[a-z0-9]{5}\\b`, "g"), `${agentName}-…`)
    .slice(0, 700);
}
