/**
 * Why a node waits. Each rule is a function that returns its reason if it makes the node wait. The
 * first reason counts. Pure.
 */
import type { NodeFacts, View, WaitReason } from "./facts.ts";
import { aheadSeconds, type NodeEvidence, type Published } from "./evidence.ts";

/** What the rules need to know besides the node. */
export type Circumstances = Readonly<{ snapshot: Published; halt: View["halt"] }>;

type Rule = (evidence: NodeEvidence, circumstances: Circumstances) => WaitReason | undefined;

/** The DaemonSet controller has not created a pod, for example because of a quota. */
const waitsForPod: Rule = ({ node }) => (node.pod === undefined ? "podless" : undefined);

/**
 * A pod that is being deleted might not run long enough to answer. Without an object, which is
 * created for every pod, or if the object cannot be written, nothing can be asked.
 */
const waitsForStart: Rule = ({ node: { pod, object, isRefused } }) => {
  const canAsk = object !== undefined && !isRefused;
  return pod?.isRunning === true && !pod.isDeleting && canAsk ? undefined : "starting";
};

const waitsForKubelet: Rule = ({ node }) =>
  node.pod?.isUnreachable === true ? "unreachable" : undefined;

/** A node with an order waits only for its own answer. */
const waitsForAnswer: Rule = ({ verdict }) =>
  verdict === "atWork" || verdict === "silent" ? verdict : undefined;

/** A failed node is asked again for newer content, or after a retry. */
const waitsAfterFailure: Rule = ({ verdict }) => (verdict === "failed" ? "failed" : undefined);

/** A refused node is asked again when the reason might have gone. A release asks only once. */
const waitsAfterRefusal: Rule = ({ verdict, node }, { snapshot }) => {
  if (verdict !== "refused") return undefined;
  const isDue = snapshot.secret.intent === "apply" && untilAskedAgain(node, snapshot.now) <= 0;
  return isDue ? undefined : "refused";
};

const waitsForGuard: Rule = (_, { snapshot }) => (snapshot.isGuarded ? undefined : "unguarded");

const waitsForPause: Rule = (_, { snapshot }) => (snapshot.isPaused ? "paused" : undefined);

const waitsForHalt: Rule = (_, { halt }) => (halt === undefined ? undefined : "halted");

/** An agent of another mode removes withdrawn entries, but takes no newer content. */
const waitsForMode: Rule = ({ node }, { snapshot }) =>
  node.pod?.mode === snapshot.secret.mode ? undefined : "otherMode";

/** In the order in which they count. */
const rules: readonly Rule[] = [
  waitsForPod,
  waitsForStart,
  waitsForKubelet,
  waitsForAnswer,
  waitsAfterFailure,
  waitsAfterRefusal,
  waitsForGuard,
  waitsForPause,
  waitsForHalt,
  waitsForMode,
];

/** Why the node waits, whatever the other nodes do. Undefined: it is asked when it has a place. */
export function waitReasonOf(
  evidence: NodeEvidence,
  circumstances: Circumstances,
): WaitReason | undefined {
  const first = rules.find((rule) => rule(evidence, circumstances) !== undefined);
  return first?.(evidence, circumstances);
}

const firstRetrySeconds = 600;
const lastRetrySeconds = 6 * 3600;

/**
 * Seconds until a node that refused is asked again: 10, 20, 40 … minutes after the last order, at
 * most 6 hours. A pod that is younger than the order has another template, mode or version, so its
 * node is asked at once. (The order's time is of the API server's clock; the report's is not.)
 */
export function untilAskedAgain({ pod, object }: NodeFacts, now: number): number {
  const attempt = object?.order?.attempt ?? 0;
  if (pod && pod.created > attempt && pod.created <= now + aheadSeconds) return 0;
  const refusedFor = Math.max(0, attempt - (object?.report?.since ?? attempt));
  const pause = Math.min(firstRetrySeconds + refusedFor, lastRetrySeconds);
  // If the clock was set back, the order lies in the future, and its pause is over.
  return attempt > now + aheadSeconds ? 0 : attempt + pause - now;
}
