/**
 * Makes a row for each node: what its agent reported, and why it does not have the newest revision.
 * The reasons are those of `status.nodes.waiting`, in the controller's order. Pure.
 */
import type { V1Pod } from "@kubernetes/client-node";
import type { GlobalPullSecret, NodeFailure } from "#api/global-pull-secret.ts";
import type { NodePullSecret } from "#api/node-pull-secret.ts";
import type { ReconcilingReason, WaitWord } from "#api/reasons.ts";
import { agentContainer } from "#contract/names.ts";
import { catalogue } from "#contract/node-codes.ts";
import { usualSeconds } from "#contract/times.ts";
import { duration } from "#contract/values.ts";
import { conditionOf } from "#kube/conditions.ts";
import { redactTokens } from "#pullsecret/problems/token.ts";
import { adviceOn } from "./status.ts";

export type NodeRow = Readonly<{
  node: string;
  /** The revision that the report is about. Undefined: the agent has not reported yet. */
  revision: number | undefined;
  result: Result | undefined;
  /** The code of the report or, if the agent did not report the reason, of the reason. */
  code: string | undefined;
  /** Why the node waits. Undefined: it has the newest revision. */
  reason: WaitWord | undefined;
  /** What happened, and what to do. Empty if there is nothing to do. */
  message: string;
  /** In RFC 3339: since when `message` is true. */
  since: string | undefined;
}>;

type Result = NonNullable<NodePullSecret["status"]>["result"];

type NodesFacts = Readonly<{
  objects: readonly NodePullSecret[];
  /** Undefined if the caller is not allowed to read the pods. */
  pods: readonly V1Pod[] | undefined;
  /** Undefined if it does not exist, or if the caller is not allowed to read it. */
  global: GlobalPullSecret | undefined;
  /** Names of the control-plane nodes, if a reason depends on them. */
  controlPlane: ReadonlySet<string>;
  /** In milliseconds since 1970. */
  now: number;
}>;

/** A row for each node with an object, a pod or a failure, sorted by node. */
export function nodeRows(facts: NodesFacts): readonly NodeRow[] {
  const { objects, pods = [], global } = facts;
  const objectBy = new Map(objects.map((object) => [object.metadata.name ?? "", object]));
  const podBy = new Map(pods.map((pod) => [pod.spec?.nodeName ?? "", pod]));
  const failures = new Map((global?.status?.failures ?? []).map((item) => [item.node, item]));
  const names = new Set([...objectBy.keys(), ...podBy.keys(), ...failures.keys()]);
  names.delete("");
  const newest = newestRevision(facts);
  return [...names].toSorted().map((node) =>
    rowOf(facts, {
      node,
      newest,
      object: objectBy.get(node),
      pod: podBy.get(node),
      failure: failures.get(node),
    }),
  );
}

/** The newest revision in status. Without the right to read it, the highest revision of a node. */
export function newestRevision({ global, objects }: Pick<NodesFacts, "global" | "objects">) {
  const { pending, inForce } = global?.status?.revision ?? {};
  const ofNodes = objects.map(({ spec, status }) => Math.max(spec.revision, status?.revision ?? 0));
  return pending ?? inForce ?? ofNodes.reduce((highest, each) => Math.max(highest, each), 0);
}

type Known = Readonly<{
  node: string;
  newest: number;
  object: NodePullSecret | undefined;
  pod: V1Pod | undefined;
  failure: NodeFailure | undefined;
}>;

function rowOf(facts: NodesFacts, known: Known): NodeRow {
  const { node, object, newest, failure } = known;
  const { revision, result, code } = object?.status ?? {};
  const isCurrent = revision === newest && (result === "Proved" || result === "Removed");
  const row = { node, revision, result };
  if (failure?.code === catalogue.leftBehind[0])
    return { ...row, reason: undefined, ...failureReason(failure) };
  if (isCurrent) return { ...row, code, reason: undefined, message: "", since: undefined };
  const reason = waitReason(facts, known);
  return { ...row, reason, ...detailOf(reason, known) };
}

/** The first reason that applies. */
function waitReason(facts: NodesFacts, known: Known): WaitWord {
  const { object, pod, newest, node } = known;
  const { global, controlPlane, now } = facts;
  const podReason = facts.pods === undefined ? undefined : podReasonOf(pod);
  if (podReason !== undefined) return podReason;
  if (object === undefined) return "AgentStarting";
  const { spec, status } = object;
  const isRelease = withdrawing.has(conditionOf(global?.status, "Ready")?.reason ?? "");
  const isAsked = spec.revision === newest && spec.attempt > 0;
  const isAnswered = status?.revision === newest && (isRelease || status.attempt === spec.attempt);
  if (isAnswered && status.result === "Failed") return "Failed";
  if (isAnswered && status.result === "Refused") return "Unfit";
  if (isAsked && !isAnswered)
    return Math.abs(now / 1000 - spec.attempt) <= usualTime(global) ? "AtWork" : "Silent";
  if (isRelease) return "AtWork";
  const listed = new Set(global?.status?.nodes?.waiting?.map(({ reason }) => reason));
  if (controlPlane.has(node) && listed.has("ControlPlaneAtWork")) return "ControlPlaneAtWork";
  return unaskedReasons.find((reason) => listed.has(reason)) ?? "NoPlace";
}

function podReasonOf(pod: V1Pod | undefined): WaitWord | undefined {
  if (pod === undefined) return "NoAgentPod";
  const isRunning = agentOf(pod)?.state?.running !== undefined;
  if (!isRunning || pod.metadata?.deletionTimestamp !== undefined) return "AgentStarting";
  return isUnreachable(pod) ? "Unreachable" : undefined;
}

/** Reasons for which a node is not asked. The first ones hold for all nodes. */
const unaskedReasons = ["PolicyMissing", "Paused", "Halted", "OtherMode"] as const;

/** Reasons of Ready while the nodes remove the entries. They do so without being asked. */
const withdrawing: ReadonlySet<string> = new Set<ReconcilingReason | "NodesAwaited" | "Overdue">([
  "Withdrawing",
  "NodesAwaited",
  "Overdue",
]);

function usualTime(global: GlobalPullSecret | undefined): number {
  const probation = duration(global?.spec?.rollout?.probation ?? "5s");
  return usualSeconds(typeof probation === "number" ? probation : 0);
}

/**
 * True if the kubelet does not answer. Kubernetes' node controller then changes only the pod's
 * condition Ready.
 */
const isUnreachable = ({ status }: V1Pod): boolean =>
  conditionOf(status, "Ready")?.status !== "True" &&
  conditionOf(status, "ContainersReady")?.status === "True";

/** Why a node needs help. */
type Detail = Pick<NodeRow, "code" | "message" | "since">;

const noDetail: Detail = { code: undefined, message: "", since: undefined };

function detailOf(reason: WaitWord, { object, pod, failure }: Known): Detail {
  if (reason === "Failed" || reason === "Unfit") {
    const { code, message = "", since } = object?.status ?? {};
    return withNext({ code, message, since });
  }
  const ready = conditionOf(pod?.status, "Ready");
  if (reason === "Unreachable") {
    const since = ready?.lastTransitionTime;
    return ofKind("away", since === undefined ? undefined : String(since));
  }
  if (reason === "AgentStarting") return startDetail(pod) ?? noDetail;
  if (reason === "Silent") return ofKind("silent", attemptTime(object));
  return failure === undefined ? noDetail : failureReason(failure);
}

const attemptTime = (object: NodePullSecret | undefined): string | undefined =>
  object === undefined ? undefined : new Date(object.spec.attempt * 1000).toISOString();

function ofKind(kind: keyof typeof catalogue, since: string | undefined): Detail {
  const [code, what, next] = catalogue[kind];
  return { code, message: `${what}; ${next}`, since };
}

/** Reasons of a container that waits while it is being created. */
const usual: ReadonlySet<string> = new Set(["ContainerCreating", "PodInitializing"]);

/**
 * Why the kubelet does not start the agent's container, in the kubelet's words, with tokens
 * redacted.
 */
function startDetail(pod: V1Pod | undefined): Detail | undefined {
  const { reason, message = "" } = (pod && agentOf(pod)?.state?.waiting) ?? {};
  if (reason === undefined || usual.has(reason)) return undefined;
  const [code, what] = catalogue.notStarted;
  const why = message === "" ? reason : `${reason}: ${redactTokens(message)}`;
  return { code, message: `${what}: ${why}`, since: undefined };
}

const failureReason = ({ code, message, since }: NodeFailure): Detail =>
  withNext({ code, message, since });

/** Adds what to do, unless the message contains it. */
function withNext({ code, message, since }: Detail): Detail {
  const next = code === undefined ? undefined : adviceOn(code)?.next;
  const isWhole = next === undefined || message.includes(next);
  return { code, message: isWhole ? message : `${message}; ${next}`, since };
}

const agentOf = ({ status }: V1Pod) =>
  status?.containerStatuses?.find(({ name }) => name === agentContainer);
