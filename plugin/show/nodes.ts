/**
 * Makes a row for each node: its agent's pod, and why the agent is not ready. We prefer facts of
 * the node and the pod to Events, because a kubelet that is down reports no new Events. Pure.
 */
import type { V1ContainerStatus, V1Node, V1Pod } from "@kubernetes/client-node";
import type { NodeFailure } from "#api/global-pull-secret.ts";
import { catalogue, statusOf } from "#contract/agent-codes.ts";
import { agentContainer, revisionAnnotation } from "#contract/names.ts";
import { catalogue as nodeCodes } from "#contract/node-codes.ts";
import { lineOf } from "#contract/termination-message.ts";
import { conditionOf } from "#kube/conditions.ts";
import { redactTokens } from "#pullsecret/problems/token.ts";
import { adviceOn } from "./status.ts";

/** The fields of an Event that we use. */
export type ProbeEvent = Readonly<{
  message?: string;
  lastTimestamp?: string | null;
  eventTime?: string | null;
  involvedObject: Readonly<{ uid?: string }>;
  series?: Readonly<{ lastObservedTime?: string }>;
}>;

export type NodeRow = Readonly<{
  node: string;
  /** Empty if the node has no agent pod. */
  pod: string;
  /** The revision of the pod's template. Undefined for a pod that is not ours. */
  revision: number | undefined;
  ready: boolean;
  /** The code of the reason why the agent is not ready. Undefined if the reason has no code. */
  code: string | undefined;
  /** The meaning of the code, or the reported text. */
  message: string;
  /** In RFC 3339: when `message` was last reported, or when it became true. */
  since: string | undefined;
}>;

/** Everything that explains why an agent is not ready. */
type NodeFacts = Readonly<{
  pods: readonly V1Pod[];
  events: readonly ProbeEvent[];
  /** The Nodes that we have read. Their agents are not ready. */
  nodes: readonly V1Node[];
  /** status.failures of the GlobalPullSecret. */
  failures: readonly NodeFailure[];
}>;

/** A row for each pod that has a node, and for each failed node without a pod, sorted by node. */
export function nodeRows({ pods, events, nodes, failures }: NodeFacts): readonly NodeRow[] {
  const probes = latestByPod(events);
  const nodeBy = new Map(nodes.map((node) => [node.metadata?.name, node]));
  const failureBy = new Map(failures.map((failure) => [failure.node, failure]));
  const ofPods = pods
    .filter(({ spec }) => spec?.nodeName !== undefined)
    .map((pod) => {
      const name = pod.spec?.nodeName ?? "";
      const probe = probes.get(pod.metadata?.uid ?? "");
      return rowOf(pod, [
        () => awayReason(pod, nodeBy.get(name)),
        () => endReason(pod),
        () => startReason(pod),
        () => probe && probeReason(probe),
        () => failureReason(failureBy.get(name)),
      ]);
    });
  const shown = new Set(ofPods.map(({ node }) => node));
  const podless = failures
    .filter(({ node }) => !shown.has(node))
    .map((failure) => podlessRow(failure));
  return [...ofPods, ...podless].toSorted((a, b) => a.node.localeCompare(b.node));
}

/** Why an agent is not ready. */
type Reason = Pick<NodeRow, "code" | "message" | "since">;

/** The row of a pod, with the first reason that we find. */
function rowOf(
  { metadata, spec, status }: V1Pod,
  reasons: readonly (() => Reason | undefined)[],
): NodeRow {
  const text = metadata?.annotations?.[revisionAnnotation];
  const ready = conditionOf(status, "Ready")?.status === "True";
  const reason = ready
    ? nothing
    : reasons.reduce<Reason | undefined>((a, b) => a ?? b(), undefined);
  return {
    node: spec?.nodeName ?? "",
    pod: metadata?.name ?? "",
    revision: text === undefined ? undefined : Number(text),
    ready,
    ...(reason ?? { ...nothing, message: "no report yet" }),
  };
}

const nothing: Reason = { code: undefined, message: "", since: undefined };

const podlessRow = (failure: NodeFailure): NodeRow => ({
  node: failure.node,
  pod: "",
  revision: undefined,
  ready: false,
  ...nothing,
  ...failureReason(failure),
});

/**
 * The reason if the kubelet does not report. The Node's condition Ready is then Unknown. If we have
 * not read the Node, we use the pod: all containers are ready, but the pod is not, because
 * Kubernetes' node controller changes only the pod's condition Ready.
 */
function awayReason({ status }: V1Pod, node: V1Node | undefined): Reason | undefined {
  const ofNode = conditionOf(node?.status, "Ready");
  const ofPod = conditionOf(status, "Ready");
  const isLost = node === undefined && conditionOf(status, "ContainersReady")?.status === "True";
  const condition = ofNode?.status === "Unknown" ? ofNode : isLost ? ofPod : undefined;
  if (condition === undefined) return undefined;
  const since = condition.lastTransitionTime as string | Date | undefined;
  return withAdvice(nodeCodes.away[0], since === undefined ? undefined : String(since));
}

function endReason({ status }: V1Pod): Reason | undefined {
  const message = terminationMessage(status);
  return message === "" ? undefined : { code: codeIn(message), message, since: undefined };
}

/** Reasons of a container that waits while it is being created. */
const usual: ReadonlySet<string> = new Set(["ContainerCreating", "PodInitializing"]);

/**
 * Why the kubelet does not start the agent's container, in the kubelet's words, with tokens
 * redacted.
 */
function startReason({ status }: V1Pod): Reason | undefined {
  const { reason, message = "" } = agentOf(status)?.state?.waiting ?? {};
  if (reason === undefined || usual.has(reason)) return undefined;
  const [code, what] = nodeCodes.notStarted;
  const why = message === "" ? reason : `${reason}: ${redactTokens(message)}`;
  return { code, message: `${what}: ${why}`, since: undefined };
}

function probeReason(event: ProbeEvent): Reason | undefined {
  const code = codeOf(event.message);
  return code === undefined ? undefined : withAdvice(code, textOfTime(event));
}

function failureReason(failure: NodeFailure | undefined): Reason | undefined {
  if (failure === undefined) return undefined;
  const { code, message, since } = failure;
  const next = code === undefined ? undefined : adviceOn(code)?.next;
  const isWhole = next === undefined || message.includes(next);
  return { code, message: isWhole ? message : `${message}; ${next}`, since };
}

function withAdvice(code: string, since: string | undefined): Reason {
  const { what, next } = adviceOn(code) ?? { what: "", next: "" };
  return { code, message: `${what}; ${next}`, since };
}

const agentOf = (status: V1Pod["status"]): V1ContainerStatus | undefined =>
  status?.containerStatuses?.find(({ name }) => name === agentContainer);

/** The termination message of the agent's container, which contains the reason why it has ended. */
function terminationMessage(status: V1Pod["status"]): string {
  const agent = agentOf(status);
  // If the container runs again, the message is outdated, and a newer Event shows why the agent is
  // not ready.
  const ended = agent?.state?.terminated ?? (agent?.state?.waiting && agent.lastState?.terminated);
  return lineOf(ended?.message?.trim() ?? "");
}

const codeIn = (text: string): string | undefined => /^GPS\d{3}\b/.exec(text)?.[0];

/**
 * The agent's code in the kubelet's Event: `Readiness probe failed: HTTP probe failed with
 * statuscode: 513`.
 */
function codeOf(message = ""): string | undefined {
  const status = Number(/statuscode: (5\d\d)/.exec(message)?.[1]);
  return Object.values(catalogue).find(([code]) => statusOf(code) === status)?.[0];
}

function latestByPod(events: readonly ProbeEvent[]): ReadonlyMap<string, ProbeEvent> {
  const sorted = events.toSorted((a, b) => timeOf(a) - timeOf(b));
  return new Map(sorted.map((event) => [event.involvedObject.uid ?? "", event]));
}

const textOfTime = ({ series, lastTimestamp, eventTime }: ProbeEvent): string | undefined =>
  series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? undefined;

const timeOf = (event: ProbeEvent): number => Date.parse(textOfTime(event) ?? "") || 0;
