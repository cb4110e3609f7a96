/** The progress when revision 7 is on all three nodes, with these changes. */
import type { NodeFacts, View, WaitingNode, WaitReason } from "./facts.ts";
import type { Progress } from "./step.ts";

type Changes = Partial<Omit<Progress, "view">> & Readonly<{ view?: Partial<View> }>;

const done: View = {
  phase: "done",
  desired: 3,
  current: 3,
  waiting: [],
  isReady: true,
  halt: undefined,
  pending: "no",
};

export function progressWith({ view, ...changes }: Changes = {}): Progress {
  return {
    view: { ...done, ...view },
    revision: 7,
    served: 7,
    intent: "apply",
    publishedAt: 0,
    now: 1000,
    ended: false,
    leftBehind: undefined,
    available: 3,
    nodes: [],
    failure: undefined,
    again: Number.POSITIVE_INFINITY,
    global: {},
    stateSecret: undefined,
    ...changes,
  };
}

/** Revision 7 is being rolled out: one node is at work, two wait for a place. */
export const rollingOut = (phase: View["phase"], view: Partial<View> = {}): Changes => ({
  served: 6,
  view: {
    phase,
    current: 0,
    isReady: false,
    waiting: [waitingFor("a", "atWork"), waitingFor("b", "window"), waitingFor("c", "window")],
    ...view,
  },
});

/** A node that waits. A failed or refused node has this report. */
export function waitingFor(
  node: string,
  reason: WaitReason,
  { waitingReason, text }: Readonly<{ waitingReason?: string; text?: string }> = {},
): WaitingNode {
  const [, code = "GPS218", message = "rolled back"] = /^(GPS\d{3}) (.*)$/.exec(text ?? "") ?? [];
  const isReported = reason === "failed" || reason === "refused";
  return {
    node,
    uid: node,
    reason,
    waitingReason,
    report: isReported ? reportWith(code, message) : undefined,
  };
}

const reportWith = (code: string, message: string): WaitingNode["report"] => ({
  revision: 7,
  digest: "d",
  attempt: 900,
  result: code === "GPS218" ? "Failed" : "Refused",
  code,
  message,
  mode: "Restart",
  version: "1.0.0",
  since: 950,
  time: 950,
});

/** A Node whose agent pod was created at this time. */
export const nodeWithPod = (name: string, created: number): NodeFacts => ({
  name,
  uid: name,
  created: 0,
  isControlPlane: false,
  object: undefined,
  isRefused: false,
  pod: {
    uid: name,
    created,
    isDeleting: false,
    isCurrent: true,
    mode: "Restart",
    isRunning: false,
    readySince: undefined,
    isUnreachable: false,
    waitingReason: undefined,
  },
});
