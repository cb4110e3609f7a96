/** The rollout as status reports it. Pure. */
import type { View, WaitingNode, WaitReason } from "./facts.ts";
import {
  untilCounted,
  usualTime,
  type Evidence,
  type NodeEvidence,
  type Published,
} from "./evidence.ts";
import type { Newer } from "./publish.ts";
import type { Window } from "./window.ts";

/** The view while nothing is published. */
export const idleView: View = {
  phase: "idle",
  desired: 0,
  current: 0,
  waiting: [],
  isReady: false,
  halt: undefined,
  pending: "no",
};

export function viewOf(
  snapshot: Published,
  { nodes, state }: Evidence,
  { halt, window, newer }: Readonly<{ halt: View["halt"]; window: Window; newer: Newer }>,
): View {
  const waiting = [...window.reasons].map(([{ node }, reason]): WaitingNode => ({
    node: node.name,
    uid: node.uid,
    reason,
    waitingReason: node.pod?.waitingReason,
    report: node.object?.report,
  }));
  const isRelease = snapshot.secret.intent === "release";
  const ready = isReady(snapshot, nodes);
  const isLate = ready && snapshot.now - snapshot.secret.publishedAt > usualTime(snapshot);
  const isOver = [...window.reasons].every(
    ([{ node }, reason]) =>
      ended.has(reason) || (isLate && (absent.has(reason) || untilCounted(node, snapshot) > 0)),
  );
  return {
    phase: isRelease ? "withdrawal" : phaseOf(halt, isOver, state.proved),
    desired: nodes.length,
    current: nodes.length - waiting.length,
    waiting,
    isReady: ready,
    halt,
    pending: newer.pending,
  };
}

/**
 * Nodes that cannot be reached, and nodes that had their turn, do not delay the end. If most nodes
 * have the content, neither do agents that do not start within the usual time, and young Nodes.
 */
const ended: ReadonlySet<WaitReason> = new Set(["unreachable", "silent", "failed", "refused"]);

const absent: ReadonlySet<WaitReason> = new Set(["podless", "starting"]);

function phaseOf(halt: View["halt"], isOver: boolean, isProved: boolean): View["phase"] {
  if (halt !== undefined) return "halted";
  if (isOver) return "done";
  return isProved ? "rollout" : "first";
}

function isReady(snapshot: Published, nodes: readonly NodeEvidence[]): boolean {
  if (!snapshot.isGuarded) return false;
  const reachable = nodes.filter(({ node }) => node.pod?.isUnreachable !== true);
  const current = reachable.filter(({ verdict }) => verdict === "current").length;
  const lacking = reachable.filter(
    ({ node, verdict }) => verdict !== "current" && untilCounted(node, snapshot) <= 0,
  ).length;
  const counted = current + lacking;
  if (nodes.length === 0) return true;
  return lacking <= Math.max(1, counted / 20) && current > counted / 2;
}
