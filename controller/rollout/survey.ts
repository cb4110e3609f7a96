/**
 * Nodes and their agents, read in pages and only when the DaemonSet's own counters do not tell
 * enough. Each page is reduced to a few words a node, so that 5,000 nodes cost memory for their
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
import { catalogue } from "#contract/agent-codes.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import type { Agent } from "#controller/objects/daemonset/agent.ts";
import { nodesOf } from "#controller/objects/daemonset/placement.ts";
import { isAgent } from "./ending-pods.ts";
import { annotationOf, annotations } from "#controller/objects/daemonset/annotation-names.ts";
import { collections } from "#kube/client/paths.ts";
import type { AgentPod, Survey } from "#controller/rollout/turn/survey-result.ts";

/** What the DaemonSet's template says about the pods made from it. */
export type TemplateMark = Readonly<{
  revision: number;
  digest: string;
  /** Every node had it once. A node that falls silent later does so for other reasons. */
  complete: boolean;
}>;

/**
 * Seconds for which an agent must have been well before its node turned NotReady, to show that the
 * node worked under its revision. The node controller notices a silent kubelet 40 or 50 s after its
 * last sign of life.
 */
const provedSeconds = 60;

/**
 * A node can be NotReady merely because its network is missing. After this long we stop waiting for
 * it.
 */
const illSeconds = 60;
/** Seconds that the agent of a NotReady node may take to end: more than its pod's grace period. */
const leavingSeconds = 60;

const agents = { labelSelector: `name=${agentName}` };

/** Labels of control-plane nodes: that of kubeadm, k3s, RKE2 and k0s, and that of MicroK8s. */
const controlPlaneLabels = [
  "node-role.kubernetes.io/control-plane",
  "node.kubernetes.io/microk8s-controlplane",
];

/**
 * Reads the nodes that should have agents, and their agents. `now`: milliseconds of the API
 * server's clock, because it is compared with times that stand in the API.
 */
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
 * Names and restarts of agents' pods that ended and are not Ready. Read as rows, as kubectl prints
 * them (Name, Ready, Status, Restarts): cheap enough for a wave, in which the counters do not tell
 * failing agents from those at work.
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
  await cluster.pages(collections.pods, agents, each, { as: "rows" });
  return ended;
}

function describe(pod: V1Pod, mark: TemplateMark, node: { since: number }, now: number): AgentPod {
  // Found by name: other people's admission may put a container of its own beside it.
  const container = pod.status?.containerStatuses?.find(({ name }) => name === agentContainer);
  const ready = condition(pod.status?.conditions, "Ready");
  const containersReady = condition(pod.status?.conditions, "ContainersReady");
  const ended = container?.state?.terminated ?? container?.lastState?.terminated;
  // Pods of a silent node lose their Ready condition; ContainersReady stays as the kubelet reported
  // it.
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
    prospects: prospectsOf(pod),
    message: firstLine(ended?.message ?? waitsFor(container?.state?.waiting)),
  };
}

/** What the init container found, by its termination message; none where it said nothing. */
function prospectsOf({ status }: V1Pod): NonNullable<AgentPod["prospects"]> {
  const first = status?.initContainerStatuses?.find(({ name }) => name === firstContainerName);
  const said = first?.state?.terminated?.message ?? "";
  if (!said.startsWith(prospectPrefix)) return [];
  const found = said.slice(prospectPrefix.length).split(", ");
  return registrations.filter((one) => found.includes(one));
}

const [givenBack] = catalogue.withdrawn;

/**
 * True for the message of a withdrawal that names the pod's own revision. One of an earlier
 * revision does not count.
 */
function saysGivenBack(message = "", revision = ""): boolean {
  return message.startsWith(givenBack) && new RegExp(`\\brevision ${revision}\\b`).test(message);
}

/** Why the runtime does not start the container, in its own words. */
function waitsFor(waiting: { reason?: string; message?: string } | undefined): string | undefined {
  return waiting && [waiting.reason, waiting.message].filter(Boolean).join(": ");
}

/**
 * The node that a DaemonSet's pod is meant for. Until the pod is bound, only its node affinity
 * names it.
 */
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

/**
 * Milliseconds since 1970; 0 when absent. Times are text on the wire, whatever the client's types
 * say.
 */
function time(value: Date | undefined): number {
  return value === undefined ? 0 : Date.parse(String(value));
}

/**
 * The first line, cut to 300 characters: a termination message may be 4 KiB, an Event's note 1 KiB,
 * and several nodes share one.
 */
function firstLine(message: string | undefined): string | undefined {
  return message?.split("\n")[0]?.slice(0, 300);
}
