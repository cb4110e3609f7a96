/**
 * The agents' pods as the rollout sees them: each reduced to 300 bytes, because a pod has 10 kB and
 * there may be 5,000.
 */
import type { KubernetesObject, V1ContainerStatus, V1Pod } from "@kubernetes/client-node";
import { grantOf } from "#contract/grant.ts";
import { agentContainer, agentName, deliveryModes, type DeliveryMode } from "#contract/names.ts";
import { lineOf, parseWord } from "#contract/word.ts";
import type { PodFacts } from "#controller/grants/facts.ts";
import { annotations } from "#controller/objects/daemonset/annotation-names.ts";
import { kubeletDirectoryOf } from "#controller/objects/daemonset/container.ts";
import { restartedAt } from "#controller/objects/daemonset/daemonset.ts";

/** What is kept of a pod. */
export type AgentPod = Omit<PodFacts, "isCurrent"> &
  Readonly<{
    name: string;
    /** The digest of its template, and when somebody last restarted the DaemonSet. */
    template: string;
    /** The kubelet's directory that it mounts. */
    directory: string | undefined;
    /** What the agent's container said when it last ended, without the part for us. */
    message: string | undefined;
  }>;

/** The label selector of the agents' pods. */
export const agentsSelector = `name=${agentName}`;

/** The template's name in the metadata of a pod, or of the template itself. */
export function templateOf(said: Readonly<Record<string, string>> | undefined): string {
  return [said?.[annotations.template] ?? "", said?.[restartedAt] ?? ""].join(" ").trim();
}

/** The mode in the metadata of a pod or template; undefined for one from before grants. */
export function modeOf(
  said: Readonly<Record<string, string>> | undefined,
): DeliveryMode | undefined {
  const mode = said?.[annotations.mode];
  return deliveryModes.find((one) => one === mode);
}

/** Reduces a pod; undefined for one that is not the DaemonSet's, though it has its label. */
export function keepPod(object: KubernetesObject): AgentPod | undefined {
  const pod = object as V1Pod;
  const { metadata = {}, spec, status } = pod;
  const node = spec?.nodeName ?? meantFor(pod);
  if (node === "" || !isAgent(pod)) return undefined;
  // Found by name: other people's admission may put a container of its own beside it.
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
    directory: kubeletDirectoryOf(spec),
    mode: modeOf(metadata.annotations),
    grant: grantOf(metadata.annotations),
    ready: { is: isReady, since: textOf(containersReady?.lastTransitionTime) ?? "none" },
    // The node controller rewrites Ready alone: the kubelet does not answer.
    unreachable:
      isReady && ready?.status !== "True" ? (textOf(ready?.lastTransitionTime) ?? "") : undefined,
    word: wordOf(ended?.message),
    lastExit: seconds(ended?.finishedAt),
    waitingReason: waitingReason(pod),
    message: ended?.message === undefined ? undefined : shortened(lineOf(ended.message)),
  };
}

/** True for a pod that the DaemonSet controls; others may use its label. */
export function isAgent({ metadata }: V1Pod): boolean {
  return (metadata?.ownerReferences ?? []).some(
    ({ kind, name, controller }) =>
      kind === "DaemonSet" && name === agentName && controller === true,
  );
}

/** The node that the pod is for. Until it is bound, only its affinity names it. */
function meantFor({ spec }: V1Pod): string {
  const terms =
    spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return terms?.[0]?.matchFields?.[0]?.values?.[0] ?? "";
}

/** The agent's word. That nothing of ours is left proves a release. */
function wordOf(message: string | undefined): PodFacts["word"] {
  const word = parseWord(message);
  if (word === undefined) return undefined;
  const { kind, grant, journal } = word;
  return { kind: kind === "released" ? "proved" : kind, ...grant, journal };
}

/** Why a container of the pod does not start, in one of the kubelet's own names. */
function waitingReason(pod: V1Pod): string | undefined {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  const waiting = ({ state }: V1ContainerStatus) => state?.waiting?.reason ?? [];
  const scheduled = conditionOf(pod, "PodScheduled");
  const found = [...initContainerStatuses, ...containerStatuses]
    .flatMap((one) => waiting(one))
    .find((reason) => reason !== "PodInitializing");
  const reason = found ?? (scheduled?.status === "False" ? scheduled.reason : undefined);
  return reason !== undefined && /^[A-Za-z]{1,64}$/.test(reason) ? reason : undefined;
}

const conditionOf = ({ status }: V1Pod, type: string) =>
  status?.conditions?.find((one) => one.type === type);

/** Times are text on the wire, whatever the client's types say. */
const textOf = (value: Date | undefined): string | undefined =>
  value === undefined ? undefined : String(value);

function seconds(value: Date | undefined): number | undefined {
  const milliseconds = Date.parse(textOf(value) ?? "");
  return Number.isNaN(milliseconds) ? undefined : milliseconds / 1000;
}

/** One line of 300 characters: an Event has 1,024 for several nodes. */
const shortened = (message: string): string => (message.split("\n")[0] ?? "").slice(0, 300);
