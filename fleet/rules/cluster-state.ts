/**
 * Derives the rollout state of one cluster for the present content, by the first rule that matches.
 * Pure. Times are in milliseconds.
 */
import type { ClusterStatus } from "#api/fleet-secret.ts";
import type { RolloutState } from "./order.ts";

export type ClusterFacts = Readonly<{
  /**
   * What the cluster contains. In order: not known yet, unreachable, another owner's object, other
   * content or no content, this content.
   */
  observed:
    | Readonly<{ is: "unknown" }>
    /** `lasting`: the cluster stays unreachable until an administrator acts. */
    | Readonly<{ is: "away"; why: string; lasting?: boolean }>
    | Readonly<{ is: "foreign"; why: string }>
    | Readonly<{ is: "other"; present: boolean }>
    | Readonly<{
        is: "has";
        proof: "proved" | "unasked" | "awaited" | "held" | "refused";
        why?: string | undefined;
      }>;
  busy: boolean;
  /**
   * Why the cluster refused this content, or its removal. `own`: the reason lies in the cluster,
   * not in the content. `next`: the earliest time of the next try.
   */
  refusal: Readonly<{ why: string; own: boolean; next: number }> | undefined;
  /** The last status of the cluster, if it was about this content. */
  former:
    | Readonly<{ state: ClusterStatus["state"]; since: number; reason?: string | undefined }>
    | undefined;
  now: number;
  /** rollout.minSuccessTime. */
  soak: number;
  /** rollout.progressDeadline. Undefined: no deadline. */
  deadline: number | undefined;
  /** The message for a cluster that missed the deadline. */
  late: string;
}>;

export type Judgement = Readonly<{
  rolloutState: RolloutState;
  state: ClusterStatus["state"];
  reason?: string;
  /** When to check the cluster again even if nothing happens. */
  next?: number;
}>;

export function rolloutStateOf(facts: ClusterFacts): Judgement {
  const { observed, busy, refusal, now } = facts;
  if (observed.is === "unknown") return { rolloutState: "unreachable", state: "Waiting" };
  if (observed.is === "away") {
    const state = observed.lasting === true ? "Failed" : "Unreachable";
    return { rolloutState: "unreachable", state, reason: observed.why };
  }
  // The content did not cause this, so other clusters do not wait.
  if (observed.is === "foreign")
    return { rolloutState: "unreachable", state: "Failed", reason: observed.why };
  // While we try a cluster again, its refusal still counts. If it did not, other clusters could
  // start during each try.
  if (busy && refusal !== undefined)
    return {
      rolloutState: refusal.own ? "busy" : "retrying",
      state: "Failed",
      reason: refusal.why,
    };
  if (busy) return { rolloutState: "busy", state: "Progressing" };
  if (observed.is === "has") return withContent(facts, observed.proof, observed.why);
  if (refusal === undefined) return withoutContent(facts);
  const { why: reason, own, next } = refusal;
  return next <= now
    ? { rolloutState: own ? "again" : "retry", state: "Failed", reason }
    : { rolloutState: own ? "unreachable" : "failed", state: "Failed", reason, next };
}

/**
 * The state of a cluster from which the Secret is being removed. After a refusal, the cluster takes
 * no slot until the next try. During that try, status still shows the reason of the refusal.
 */
export function removalStateOf({
  observed,
  busy,
  refusal,
  now,
}: Pick<ClusterFacts, "observed" | "busy" | "refusal" | "now">): Omit<Judgement, "state"> {
  if (observed.is === "unknown") return { rolloutState: "unreachable" };
  if (observed.is === "away") return { rolloutState: "unreachable", reason: observed.why };
  const reason = refusal === undefined ? {} : { reason: refusal.why };
  if (busy) return { rolloutState: "busy", ...reason };
  if (refusal === undefined) return { rolloutState: "waiting" };
  return { rolloutState: refusal.next <= now ? "retry" : "failed", ...reason };
}

/**
 * Whether to give up a leaving cluster at its deadline. We give up only clusters that refuse, or
 * that did not answer this process. We never give up a cluster that answers and waits for its turn,
 * or that this process has not contacted yet.
 */
export const isGivenUp = ({ rolloutState, reason }: Omit<Judgement, "state">): boolean =>
  rolloutState === "failed" || (rolloutState === "unreachable" && reason !== undefined);

/**
 * The state of a cluster without the content. A cluster that lost the content before it proved the
 * content comes after all others, because each try takes a slot. The cluster keeps its state, so
 * that its deadline does not start again.
 */
function withoutContent({ former, late }: ClusterFacts): Judgement {
  if (former?.state === "Done") return { rolloutState: "repair", state: "Progressing" };
  if (former?.state === "Progressing") return { rolloutState: "again", state: "Progressing" };
  if (former?.state === "Failed" && former.reason === late)
    return { rolloutState: "again", state: "Failed", reason: late };
  return { rolloutState: "waiting", state: "Waiting" };
}

function withContent(facts: ClusterFacts, proof: string, why: string | undefined): Judgement {
  const { now, soak, deadline, late } = facts;
  const reason = why === undefined ? {} : { reason: why };
  switch (proof) {
    case "held":
      return { rolloutState: "unreachable", state: "Waiting", ...reason };
    case "refused":
      return { rolloutState: "failed", state: "Failed", ...reason };
    case "awaited": {
      // The cluster had proved this content, and has lost the proof. We give it no slot: each loss
      // would start a new deadline, so it could keep the slot for ever.
      if (facts.former?.state === "Done")
        return { rolloutState: "unreachable", state: "Progressing", ...reason };
      const end = deadline === undefined ? Number.POSITIVE_INFINITY : begunAt(facts) + deadline;
      // The content is in the cluster and might be correct, so another cluster gets the slot.
      if (now >= end) return { rolloutState: "unreachable", state: "Failed", reason: late };
      const next = Number.isFinite(end) ? { next: end } : {};
      return { rolloutState: "busy", state: "Progressing", ...reason, ...next };
    }
    default: {
      const end = since(facts, "Done") + soak;
      return now < end
        ? { rolloutState: "soaking", state: "Done", ...reason, next: end }
        : { rolloutState: "done", state: "Done", ...reason };
    }
  }
}

const since = ({ former, now }: ClusterFacts, state: ClusterStatus["state"]): number =>
  former?.state === state ? former.since : now;

/**
 * The time from which we count the deadline. For a late cluster, we do not count again from the
 * start, so the cluster stays late until its nodes have the content.
 */
function begunAt(facts: ClusterFacts): number {
  const { former, late } = facts;
  if (former?.state === "Failed" && former.reason === late) return Number.NEGATIVE_INFINITY;
  return since(facts, "Progressing");
}
