/**
 * Nodes and their agents, read in pages and only when the DaemonSet's own counters do not tell enough. Each page is folded into a
 * few words per node, so that 5,000 nodes cost memory for their names only.
 */
import type { V1Node, V1Pod } from "@kubernetes/client-node";
import { guardSeconds, revisionAnnotation, syncerName } from "../pullsecret/names.ts";
import type { Cluster } from "./kube.ts";
import { annotations } from "./ownership.ts";
import { collections } from "./paths.ts";

/** An agent's pod as its node last described it. */
export type AgentPod = Readonly<{
  /** Made from the DaemonSet's present template. */
  current: boolean;
  /** Ready for longer than a false Ready lasts. */
  available: boolean;
  /** Its container has run at least once, so it may have touched the node. */
  started: boolean;
  /** It was well for so long before its node fell silent, or does so little (revision 0), that it cannot be the cause. */
  proved: boolean;
  ageSeconds: number;
  /** It rolled back and ended for that (exit code 1); one that is killed or told to stop has not given up. */
  gaveUp: boolean;
  /** The agent's last words, or why its container cannot start; never a credential. */
  message: string | undefined;
}>;

export type SurveyedNode = Readonly<{
  name: string;
  /** Its kubelet is not heard of, or has called the node not Ready for long and runs no agent either. */
  silent: boolean;
  agent: AgentPod | undefined;
}>;
export type Survey = readonly SurveyedNode[];

/** What the DaemonSet's template says about the pods made from it. */
export type TemplateMark = Readonly<{
  revision: number;
  digest: string;
  /** Every node had it once: who falls silent later does so for other reasons. */
  complete: boolean;
}>;

/**
 * The node controller notices a silent kubelet 40 or 50 s after its last sign of life. An agent that was well for longer
 * than this before its node was called NotReady had the node working under its revision.
 */
const provedSeconds = 60;

/** A node may be not Ready for want of a network and serve well; one that is so for this long is asked no more of. */
const illSeconds = 60;
/** Past the pod's grace period: an ill node's agent that is being replaced is given this long. */
const leavingSeconds = 60;

const linux = { labelSelector: "kubernetes.io/os=linux" };
const agents = { labelSelector: `name=${syncerName}` };

/** Reads all Linux nodes and their agents. `now` in milliseconds. */
export async function survey(cluster: Cluster, mark: TemplateMark, now: number): Promise<Survey> {
  const nodes = new Map<string, { state: "fine" | "ill" | "silent"; since: number }>();
  await cluster.pages<V1Node>(collections.nodes, linux, (items) => {
    for (const node of items) {
      const { status, since } = condition(node.status?.conditions, "Ready");
      const ill = status === "False" && now - since >= illSeconds * 1000;
      const state = ill ? "ill" : status === "Unknown" ? "silent" : "fine";
      nodes.set(node.metadata?.name ?? "", { state, since });
    }
  });
  const found = new Map<string, AgentPod>();
  const leaving = new Set<string>();
  await cluster.pages<V1Pod>(collections.pods, agents, (items) => {
    for (const pod of items) {
      const name = pod.spec?.nodeName ?? boundFor(pod);
      const node = nodes.get(name);
      const deleted = pod.metadata?.deletionTimestamp;
      if (node === undefined) continue;
      if (deleted === undefined) found.set(name, describe(pod, mark, node, now));
      else if (now - time(deleted) < leavingSeconds * 1000) leaving.add(name);
    }
  });
  return [...nodes].map(([name, { state }]) => {
    const silent = state === "silent" || (state === "ill" && !leaving.has(name));
    return { name, silent, agent: found.get(name) };
  });
}

/** How many agents' pods there are on nodes that are Ready, those that are going away included. */
export async function countAgents(cluster: Cluster): Promise<number> {
  const living = new Set<string>();
  await cluster.pages<V1Node>(collections.nodes, linux, (items) => {
    for (const node of items)
      if (condition(node.status?.conditions, "Ready").status === "True") living.add(node.metadata?.name ?? "");
  });
  let count = 0;
  await cluster.pages<V1Pod>(collections.pods, agents, (items) => {
    count += items.filter((pod) => living.has(pod.spec?.nodeName ?? "")).length;
  });
  return count;
}

function describe(pod: V1Pod, mark: TemplateMark, node: { since: number }, now: number): AgentPod {
  const container = pod.status?.containerStatuses?.[0];
  const ready = condition(pod.status?.conditions, "Ready");
  const containersReady = condition(pod.status?.conditions, "ContainersReady");
  const ended = container?.state?.terminated ?? container?.lastState?.terminated;
  // A silent node's pods lose their Ready condition; ContainersReady stays the kubelet's last word.
  const wasWell = containersReady.status === "True" && container?.ready === true;
  const marks = pod.metadata?.annotations ?? {};
  return {
    current: marks[revisionAnnotation] === String(mark.revision) && marks[annotations.template] === mark.digest,
    available: ready.status === "True" && now - ready.since >= guardSeconds * 1000,
    started: container?.state?.running !== undefined || ended !== undefined,
    proved:
      mark.revision === 0 || mark.complete || (wasWell && node.since - containersReady.since >= provedSeconds * 1000),
    ageSeconds: (now - time(pod.metadata?.creationTimestamp)) / 1000,
    gaveUp: ended?.exitCode === 1,
    message: firstLine(ended?.message ?? container?.state?.waiting?.reason),
  };
}

/** Before it is bound, a DaemonSet's pod names its node in its affinity only. */
function boundFor(pod: V1Pod): string {
  const terms = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return terms?.[0]?.matchFields?.[0]?.values?.[0] ?? "";
}

type Conditions = readonly { type: string; status: string; lastTransitionTime?: Date }[] | undefined;

function condition(conditions: Conditions, type: string): { status: string; since: number } {
  const found = conditions?.find((one) => one.type === type);
  return { status: found?.status ?? "Unknown", since: time(found?.lastTransitionTime) };
}

/** Times are text on the wire, whatever the client's types say. 0 when absent. */
function time(value: Date | undefined): number {
  return value === undefined ? 0 : Date.parse(String(value));
}

/** 300 characters: a termination message may be 4 KiB, an Event's note 1 KiB, and several nodes share one. */
function firstLine(message: string | undefined): string | undefined {
  return message?.split("\n")[0]?.slice(0, 300);
}
