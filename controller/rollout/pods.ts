/** Reduces the agents' pods to 300 bytes each. A pod has 10 kB, and there can be 5,000. */
import type { KubernetesObject, V1ContainerStatus, V1Pod } from "@kubernetes/client-node";
import { grantOf } from "#contract/grant.ts";
import { agentContainer, agentName, type PublishedMode, publishedModes } from "#contract/names.ts";
import { lineOf, parseMessage } from "#contract/termination-message.ts";
import type { PodFacts } from "./facts.ts";
import { annotations } from "#controller/objects/annotations.ts";
import { restartedAt } from "#controller/objects/daemonset.ts";

export type AgentPod = Omit<PodFacts, "isCurrent"> &
  Readonly<{
    name: string;
    /** The template's digest, and the time of the last `kubectl rollout restart`. */
    template: string;
    /** The termination message of the agent's container, without its machine-readable part. */
    message: string | undefined;
  }>;

export const agentsSelector = `name=${agentName}`;

/** The template's identity, from the metadata of a pod or of the template. */
export function templateOf(liveAnnotations: Readonly<Record<string, string>> | undefined): string {
  return [liveAnnotations?.[annotations.template] ?? "", liveAnnotations?.[restartedAt] ?? ""]
    .join(" ")
    .trim();
}

/** The mode, from the metadata of a pod or a template. Undefined if it is missing. */
export function modeOf(
  liveAnnotations: Readonly<Record<string, string>> | undefined,
): PublishedMode | undefined {
  const mode = liveAnnotations?.[annotations.mode];
  return publishedModes.find((candidate) => candidate === mode);
}

/** The probation in seconds, from the flag of the pod's agent. */
function probationOf({ spec }: V1Pod): number | undefined {
  const { args = [] } = spec?.containers.find(({ name }) => name === agentContainer) ?? {};
  const [, seconds] = /^(\d{1,5})s$/.exec(args[args.indexOf("--probation") + 1] ?? "") ?? [];
  return seconds === undefined ? undefined : Number(seconds);
}

/** Reduces a pod. Undefined if the pod has the label but does not belong to the DaemonSet. */
export function keepPod(object: KubernetesObject): AgentPod | undefined {
  const pod = object as V1Pod;
  const { metadata = {}, spec, status } = pod;
  const node = spec?.nodeName ?? meantFor(pod);
  if (node === "" || !isAgent(pod)) return undefined;
  // Find the container by name, because admission can insert other containers.
  const container = status?.containerStatuses?.find(({ name }) => name === agentContainer);
  const ended = container?.state?.terminated ?? container?.lastState?.terminated;
  const ready = conditionOf(pod, "Ready");
  const containersReady = conditionOf(pod, "ContainersReady");
  const isReady = containersReady?.status === "True";
  return {
    name: metadata.name ?? "",
    uid: metadata.uid ?? "",
    node,
    created: seconds(metadata.creationTimestamp) ?? 0,
    resourceVersion: metadata.resourceVersion ?? "",
    isDeleting: metadata.deletionTimestamp !== undefined,
    template: templateOf(metadata.annotations),
    mode: modeOf(metadata.annotations),
    probation: probationOf(pod),
    grant: grantOf(metadata.annotations),
    ready: { is: isReady, since: textOf(containersReady?.lastTransitionTime) ?? "none" },
    // If the kubelet does not answer, the node controller changes only the condition Ready.
    unreachable:
      isReady && ready?.status !== "True" ? (textOf(ready?.lastTransitionTime) ?? "") : undefined,
    terminationMessage: readTerminationMessage(ended?.message),
    lastExit: seconds(ended?.finishedAt),
    waitingReason: waitingReason(pod),
    message: ended?.message === undefined ? undefined : shortened(lineOf(ended.message)),
  };
}

/** True for a pod that our DaemonSet controls. Other pods can have the same label. */
export function isAgent({ metadata }: V1Pod): boolean {
  return (metadata?.ownerReferences ?? []).some(
    ({ kind, name, controller }) =>
      kind === "DaemonSet" && name === agentName && controller === true,
  );
}

/**
 * The node for which the DaemonSet controller created the pod. Before the pod is bound, only its
 * affinity names the node.
 */
function meantFor({ spec }: V1Pod): string {
  const terms =
    spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return terms?.[0]?.matchFields?.[0]?.values?.[0] ?? "";
}

/**
 * The machine-readable part of the termination message. `released` counts as the proof of a
 * release.
 */
function readTerminationMessage(message: string | undefined): PodFacts["terminationMessage"] {
  const parsed = parseMessage(message);
  if (parsed === undefined) return undefined;
  const { kind, grant, journal } = parsed;
  return { kind: kind === "released" ? "proved" : kind, ...grant, journal };
}

/** Why a container of the pod does not start: one of the kubelet's own reasons. */
function waitingReason(pod: V1Pod): string | undefined {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  const waiting = ({ state }: V1ContainerStatus) => state?.waiting?.reason ?? [];
  const scheduled = conditionOf(pod, "PodScheduled");
  const containerReason = [...initContainerStatuses, ...containerStatuses]
    .flatMap((status) => waiting(status))
    .find((reason) => reason !== "PodInitializing");
  const reason = containerReason ?? (scheduled?.status === "False" ? scheduled.reason : undefined);
  return reason !== undefined && /^[A-Za-z]{1,64}$/.test(reason) ? reason : undefined;
}

const conditionOf = ({ status }: V1Pod, type: string) =>
  status?.conditions?.find((condition) => condition.type === type);

/** Times are text on the wire, although the client's types declare dates. */
const textOf = (value: Date | undefined): string | undefined =>
  value === undefined ? undefined : String(value);

function seconds(value: Date | undefined): number | undefined {
  const milliseconds = Date.parse(textOf(value) ?? "");
  return Number.isNaN(milliseconds) ? undefined : milliseconds / 1000;
}

/** One line of at most 300 characters. An Event has 1,024 characters for several nodes. */
const shortened = (message: string): string => (message.split("\n")[0] ?? "").slice(0, 300);
