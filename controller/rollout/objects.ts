/**
 * Reduces pods, NodePullSecrets and Nodes to what a decision needs. A pod has 10 kB, and there can
 * be 5,000 of each. What is kept of a node takes about 1 kB, with a report of usual length.
 */
import type { KubernetesObject, V1ContainerStatus, V1Pod } from "@kubernetes/client-node";
import {
  agentContainer,
  agentName,
  namespace,
  type PublishedMode,
  publishedModes,
} from "#contract/names.ts";
import { readOrder, readReport } from "#contract/order.ts";
import { annotations } from "#controller/objects/annotations.ts";
import { restartedAt } from "#controller/objects/daemonset.ts";
import { ownerLabels } from "#kube/client/ownership.ts";
import { collections } from "#kube/client/paths.ts";
import type { NodeFacts, ObjectFacts, PodFacts } from "./facts.ts";

export type AgentPod = Omit<PodFacts, "isCurrent"> &
  Readonly<{
    node: string;
    /** The template's digest, and the time of the last `kubectl rollout restart`. */
    template: string;
  }>;

/** `nodeUid`: of the Node that owns the NodePullSecret. Empty if someone removed the owner. */
export type NodeObject = ObjectFacts & Readonly<{ name: string; nodeUid: string }>;

export type NodeMetadata = Omit<NodeFacts, "pod" | "object" | "isRefused">;

export const agentsSelector = `name=${agentName}`;

/** The template's identity, from the metadata of a pod or of the template. */
export function templateOf(liveAnnotations: Readonly<Record<string, string>> | undefined): string {
  return [liveAnnotations?.[annotations.template] ?? "", liveAnnotations?.[restartedAt] ?? ""]
    .join(" ")
    .trim();
}

/** The mode, from the metadata of a pod or a template. Undefined if it is missing. */
export const modeOf = (
  liveAnnotations: Readonly<Record<string, string>> | undefined,
): PublishedMode | undefined =>
  publishedModes.find((candidate) => candidate === liveAnnotations?.[annotations.mode]);

/** Reduces a pod. Undefined if the pod has the label but does not belong to the DaemonSet. */
export function keepPod(object: KubernetesObject): AgentPod | undefined {
  const pod = object as V1Pod;
  const { metadata = {}, spec, status } = pod;
  const node = spec?.nodeName ?? meantFor(pod);
  if (node === "" || !isAgent(pod)) return undefined;
  // Find the container by name, because admission can insert other containers.
  const container = status?.containerStatuses?.find(({ name }) => name === agentContainer);
  const ready = conditionOf(pod, "Ready");
  const isReady = ready?.status === "True";
  return {
    uid: metadata.uid ?? "",
    node,
    created: seconds(metadata.creationTimestamp) ?? 0,
    isDeleting: metadata.deletionTimestamp !== undefined,
    template: templateOf(metadata.annotations),
    mode: modeOf(metadata.annotations),
    isRunning: container?.state?.running !== undefined,
    readySince: isReady ? (seconds(ready.lastTransitionTime) ?? 0) : undefined,
    // If the kubelet does not answer, the node controller changes only the condition Ready.
    isUnreachable: !isReady && conditionOf(pod, "ContainersReady")?.status === "True",
    waitingReason: waitingReason(pod),
  };
}

/** True if the DaemonSet of the agents created the pod. */
function isAgent({ metadata }: V1Pod): boolean {
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

/** Seconds since 1970. Times are text on the wire, although the client's types declare dates. */
function seconds(time: Date | undefined): number | undefined {
  const milliseconds = Date.parse(String(time));
  return Number.isNaN(milliseconds) ? undefined : milliseconds / 1000;
}

/** Reduces a Node's metadata. */
export function keepNode({ metadata = {} }: KubernetesObject): NodeMetadata {
  return {
    name: metadata.name ?? "",
    uid: metadata.uid ?? "",
    created: seconds(metadata.creationTimestamp) ?? 0,
    isControlPlane: metadata.labels?.["node-role.kubernetes.io/control-plane"] !== undefined,
  };
}

/** Reduces a NodePullSecret. */
export function keepObject(object: KubernetesObject): NodeObject {
  const { metadata = {}, spec, status } = object as KubernetesObject & Record<string, unknown>;
  const owner = metadata.ownerReferences?.find(({ kind }) => kind === "Node");
  return {
    name: metadata.name ?? "",
    nodeUid: owner?.uid ?? "",
    uid: metadata.uid ?? "",
    resourceVersion: metadata.resourceVersion ?? "",
    isDeleting: metadata.deletionTimestamp !== undefined,
    order: readOrder(spec),
    report: readReport(status),
  };
}

/** The new NodePullSecret of a Node. It is deleted after the Node. Nothing is asked yet. */
export const nodePullSecret = ({ name, uid }: Pick<NodeFacts, "name" | "uid">) => ({
  apiVersion: "globalpullsecret.io/v1alpha1",
  kind: "NodePullSecret",
  metadata: {
    name,
    namespace,
    labels: { ...ownerLabels },
    ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid }],
  },
  spec: { revision: 0, digest: "", attempt: 0 },
});

export const objectPath = (name: string): string => `${collections.nodePullSecrets}/${name}`;
