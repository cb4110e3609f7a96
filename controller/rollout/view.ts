/** The rollout as status reports it. Pure. */
import type { NodeFacts, View, WaitingNode, WaitReason } from "./facts.ts";
import type { Evidence, NodeEvidence, Published } from "./evidence.ts";
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
  places: 0,
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
  return {
    phase: isRelease ? "withdrawal" : phaseOf(waiting, halt, state.proved),
    desired: nodes.length,
    current: nodes.length - waiting.length,
    waiting,
    isReady: isReady(snapshot, nodes),
    halt,
    places: window.places,
    pending: newer.pending,
  };
}

/** Nodes that cannot be reached, and nodes that had their turn, do not delay the end. */
const ended: ReadonlySet<WaitReason> = new Set(["unreachable", "silent", "failed", "refused"]);

function phaseOf(waiting: View["waiting"], halt: View["halt"], isProved: boolean): View["phase"] {
  if (halt !== undefined) return "halted";
  if (waiting.every(({ reason }) => ended.has(reason))) return "done";
  return isProved ? "rollout" : "first";
}

/** Seconds that a Node has for its first content if it joins after the publication. */
const youngSeconds = 120;

/** Seconds for which a Node without the newest content does not count yet. */
export const untilCounted = ({ created }: NodeFacts, { now, secret }: Published): number =>
  created > secret.publishedAt ? created + youngSeconds - now : 0;

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
