/** The agents' pods as one row for each node, with the code of the agent's current problem. */
import type { V1Pod } from "@kubernetes/client-node";
import { catalogue, statusOf } from "#contract/agent-codes.ts";
import { agentContainer, revisionAnnotation } from "#contract/names.ts";
import { lineOf } from "#contract/word.ts";
import { adviceOn } from "./advice.ts";

/** The fields of an Event that are used. */
export type ProbeEvent = Readonly<{
  message?: string;
  lastTimestamp?: string | null;
  eventTime?: string | null;
  involvedObject: Readonly<{ uid?: string }>;
  series?: Readonly<{ lastObservedTime?: string }>;
}>;

export type NodeRow = Readonly<{
  node: string;
  pod: string;
  /** The revision of the pod's template; undefined for a pod that is not ours. */
  revision: number | undefined;
  ready: boolean;
  /** The code of why the pod is not ready, if the agent or the kubelet has reported one. */
  code: string | undefined;
  /** The meaning of the code, or the agent's termination message. */
  message: string;
}>;

/** One row for each pod that has a node, by the node's name. */
export function nodeRows(
  pods: readonly V1Pod[],
  events: readonly ProbeEvent[],
): readonly NodeRow[] {
  const probes = latestByPod(events);
  return pods
    .filter(({ spec }) => spec?.nodeName !== undefined)
    .map((pod) => row(pod, probes.get(pod.metadata?.uid ?? "")))
    .toSorted((a, b) => a.node.localeCompare(b.node));
}

function row({ metadata, spec, status }: V1Pod, probe: string | undefined): NodeRow {
  const ready = status?.conditions?.some((one) => one.type === "Ready" && one.status === "True");
  const text = metadata?.annotations?.[revisionAnnotation];
  const ended = terminationMessage(status);
  const code = ready === true ? undefined : (codeIn(ended) ?? codeOf(probe));
  const told = code === undefined ? undefined : adviceOn(code);
  return {
    node: spec?.nodeName ?? "",
    pod: metadata?.name ?? "",
    revision: text === undefined ? undefined : Number(text),
    ready: ready === true,
    code,
    message: ready === true ? "" : ended || (told ? `${told.what}; ${told.next}` : "no word yet"),
  };
}

/** The termination message of the agent's ended container, which contains the reason. */
function terminationMessage(status: V1Pod["status"]): string {
  const agent = status?.containerStatuses?.find(({ name }) => name === agentContainer);
  // A container that runs again has another reason to wait. Then the Event is newer.
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

function latestByPod(events: readonly ProbeEvent[]): ReadonlyMap<string, string> {
  const sorted = events.toSorted((a, b) => timeOf(a) - timeOf(b));
  return new Map(
    sorted.map(({ involvedObject, message = "" }) => [involvedObject.uid ?? "", message]),
  );
}

function timeOf({ series, lastTimestamp, eventTime }: ProbeEvent): number {
  return Date.parse(series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? "") || 0;
}
