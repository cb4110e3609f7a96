/**
 * Nodes and their agents, read in pages and only when the DaemonSet's own counters do not tell
 * enough. Each page is folded into a few words per node, so that 5,000 nodes cost memory for their
 * names only.
 */
import type { V1Node, V1Pod } from "@kubernetes/client-node";
import {
  agentContainer,
  exitCodes,
  firstContainerName,
  guardSeconds,
  prospectPrefix,
  registrations,
  revisionAnnotation,
  agentName,
} from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import type { Agent } from "#controller/objects/daemonset/agent.ts";
import { nodesOf } from "#controller/objects/daemonset/placement.ts";
import { isAgent } from "./leaving.ts";
import { annotationOf, annotations } from "#kube/client/ownership.ts";
import { collections } from "#kube/client/paths.ts";
import type { AgentPod, Survey } from "#controller/rollout/turn/surveyed.ts";

/** What the DaemonSet's template says about the pods made from it. */
export type TemplateMark = Readonly<{
  revision: number;
  digest: string;
  /** Every node had it once: who falls silent later does so for other reasons. */
  complete: boolean;
}>;

/**
 * The node controller notices a silent kubelet 40 or 50 s after its last sign of life. An agent
 * that was well for longer than this before its node was called NotReady had the node working under
 * its revision.
 */
const provedSeconds = 60;

/**
 * A node can be NotReady merely because its network is missing. After this long we stop waiting for
 * it.
 */
const illSeconds = 60;
/** How long the agent of a NotReady node may take to end: more than its pod's grace period. */
const leavingSeconds = 60;

const agents = { labelSelector: `name=${agentName}` };

/** kubeadm's, k3s', RKE2's and k0s' label, and MicroK8s'. */
const controlPlaneLabels = [
  "node-role.kubernetes.io/control-plane",
  "node.kubernetes.io/microk8s-controlplane",
];

/** Reads the nodes that have agents, and these. `now` in milliseconds. */
export async function survey(
  cluster: Cluster,
  agent: Agent,
  mark: TemplateMark,
  now: number,
): Promise<Survey> {
  const nodes = new Map<
    string,
    { state: "fine" | "ill" | "silent"; since: number; controlPlane: boolean }
  >();
  const wanted = { labelSelector: nodesOf(agent) };
  await cluster.pages<V1Node>(collections.nodes, wanted, (items) => {
    for (const node of items) {
      const { status, since } = condition(node.status?.conditions, "Ready");
      const ill = status === "False" && now - since >= illSeconds * 1000;
      const state = ill ? "ill" : status === "Unknown" ? "silent" : "fine";
      const controlPlane = controlPlaneLabels.some(
        (label) => node.metadata?.labels?.[label] !== undefined,
      );
      nodes.set(node.metadata?.name ?? "", { state, since, controlPlane });
    }
  });
  const found = new Map<string, AgentPod>();
  const leaving = new Set<string>();
  await cluster.pages<V1Pod>(collections.pods, agents, (items) => {
    for (const pod of items) {
      if (!isAgent(pod)) continue;
      const name = pod.spec?.nodeName ?? boundFor(pod);
      const node = nodes.get(name);
      const deleted = pod.metadata?.deletionTimestamp;
      if (node === undefined) continue;
      if (deleted === undefined) found.set(name, describe(pod, mark, node, now));
      else if (now - time(deleted) < leavingSeconds * 1000) leaving.add(name);
    }
  });
  return [...nodes].map(([name, { state, since, controlPlane }]) => {
    const silent = state === "silent" || (state === "ill" && !leaving.has(name));
    return {
      name,
      silent,
      silentSeconds: silent ? (now - since) / 1000 : 0,
      podlessSeconds: 0,
      controlPlane,
      agent: found.get(name),
    };
  });
}

/**
 * Names and restarts of agents' pods that ended and are not Ready, from rows as kubectl prints
 * them: Name, Ready, Status, Restarts. Cheap enough to be asked in a wave, where the counters do
 * not tell failing agents from those at work.
 */
export async function glance(cluster: Cluster): Promise<string[]> {
  const ended: string[] = [];
  const each = (rows: readonly Readonly<{ cells: readonly unknown[] }>[]) => {
    for (const { cells } of rows) {
      const [name, ready, status, restarts] = cells.map(String);
      const again = Number.parseInt(restarts ?? "", 10) || 0;
      const broken = status === "Error" || status === "CrashLoopBackOff";
      if (ready?.startsWith("0/") === true && (again > 0 || broken)) ended.push(`${name}/${again}`);
    }
  };
  await cluster.pages(collections.pods, agents, each, "rows");
  return ended;
}

function describe(pod: V1Pod, mark: TemplateMark, node: { since: number }, now: number): AgentPod {
  // By name: other people's admission may put a container of its own beside it.
  const container = pod.status?.containerStatuses?.find(({ name }) => name === agentContainer);
  const ready = condition(pod.status?.conditions, "Ready");
  const containersReady = condition(pod.status?.conditions, "ContainersReady");
  const ended = container?.state?.terminated ?? container?.lastState?.terminated;
  // A silent node's pods lose their Ready condition; ContainersReady stays the kubelet's last word.
  const wasWell = containersReady.status === "True" && container?.ready === true;
  const marks = pod.metadata?.annotations ?? {};
  const ageSeconds = (now - time(pod.metadata?.creationTimestamp)) / 1000;
  return {
    current:
      marks[revisionAnnotation] === String(mark.revision) &&
      marks[annotations.template] === mark.digest,
    available: ready.status === "True" && now - ready.since >= guardSeconds * 1000,
    running: container?.state?.running !== undefined,
    started: container?.state?.running !== undefined || ended !== undefined,
    proved:
      mark.revision === 0 ||
      mark.complete ||
      (wasWell && node.since - containersReady.since >= provedSeconds * 1000),
    ageSeconds,
    unavailableSeconds:
      ready.status === "True" ? 0 : Math.min(ageSeconds, (now - ready.since) / 1000),
    gaveUp: ended?.exitCode === exitCodes.gaveUp,
    refused: ended?.exitCode === exitCodes.refused,
    gaveBack:
      ended?.exitCode === exitCodes.done &&
      saysGivenBack(ended.message, annotationOf(pod.metadata, revisionAnnotation)),
    prospect: prospectOf(pod),
    message: firstLine(ended?.message ?? waitsFor(container?.state?.waiting)),
  };
}

/** What the pod's first container has left as its last words. */
function prospectOf({ status }: V1Pod): AgentPod["prospect"] {
  const first = status?.initContainerStatuses?.find(({ name }) => name === firstContainerName);
  const said = first?.state?.terminated?.message ?? "";
  return registrations.find((one) => said === `${prospectPrefix}${one}`);
}

/** `GPS224 …` that names the pod's revision: a word of an earlier one is none. */
function saysGivenBack(message = "", revision = ""): boolean {
  return message.startsWith("GPS224") && new RegExp(`\\brevision ${revision}\\b`).test(message);
}

/** Why its runtime does not start it, in the runtime's own words. */
function waitsFor(waiting: { reason?: string; message?: string } | undefined): string | undefined {
  return waiting && [waiting.reason, waiting.message].filter(Boolean).join(": ");
}

/** Before it is bound, a DaemonSet's pod names its node in its affinity only. */
function boundFor(pod: V1Pod): string {
  const terms =
    pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
      ?.nodeSelectorTerms;
  return terms?.[0]?.matchFields?.[0]?.values?.[0] ?? "";
}

type Conditions =
  | readonly { type: string; status: string; lastTransitionTime?: Date }[]
  | undefined;

function condition(conditions: Conditions, type: string): { status: string; since: number } {
  const found = conditions?.find((one) => one.type === type);
  return { status: found?.status ?? "Unknown", since: time(found?.lastTransitionTime) };
}

/** Times are text on the wire, whatever the client's types say. 0 when absent. */
function time(value: Date | undefined): number {
  return value === undefined ? 0 : Date.parse(String(value));
}

/**
 * 300 characters: a termination message may be 4 KiB, an Event's note 1 KiB, and several nodes
 * share one.
 */
function firstLine(message: string | undefined): string | undefined {
  return message?.split("\n")[0]?.slice(0, 300);
}
