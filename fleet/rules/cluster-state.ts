/**
 * The rollout state of one cluster for the present content: a table in which the first match
 * counts. Pure. Times are milliseconds.
 */
import type { ClusterStatus } from "#api/fleet-secret.ts";
import type { RolloutState } from "./order.ts";

export type ClusterFacts = Readonly<{
  /**
   * The content of the cluster: unknown, no answer, an object of someone else, other content or
   * none, or this content.
   */
  there:
    | Readonly<{ is: "unknown" }>
    /** `lasting`: only an administrator can end this. */
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
   * Why this content, or its removal, was refused. `own`: for the cluster's own reasons. `next`:
   * when it may be tried again.
   */
  refusal: Readonly<{ why: string; own: boolean; next: number }> | undefined;
  /** The last status, if it was about this content. */
  former:
    | Readonly<{ state: ClusterStatus["state"]; since: number; reason?: string | undefined }>
    | undefined;
  now: number;
  /** rollout.minSuccessTime. */
  soak: number;
  /** rollout.progressDeadline. Undefined: none. */
  deadline: number | undefined;
  /** The message for a cluster that missed the deadline. */
  late: string;
}>;

export type Judgement = Readonly<{
  rolloutState: RolloutState;
  state: ClusterStatus["state"];
  reason?: string;
  /** When to check again even if nothing happens. */
  next?: number;
}>;

export function rolloutStateOf(facts: ClusterFacts): Judgement {
  const { there, busy, refusal, now } = facts;
  if (there.is === "unknown") return { rolloutState: "unreachable", state: "Waiting" };
  if (there.is === "away") {
    const state = there.lasting === true ? "Failed" : "Unreachable";
    return { rolloutState: "unreachable", state, reason: there.why };
  }
  // The content is not the reason, so other clusters are not delayed.
  if (there.is === "foreign")
    return { rolloutState: "unreachable", state: "Failed", reason: there.why };
  // While we try a cluster again, its refusal still counts. Otherwise each try would let other
  // clusters start.
  if (busy && refusal !== undefined)
    return {
      rolloutState: refusal.own ? "busy" : "retrying",
      state: "Failed",
      reason: refusal.why,
    };
  if (busy) return { rolloutState: "busy", state: "Progressing" };
  if (there.is === "has") return withContent(facts, there.proof, there.why);
  if (refusal === undefined) return withoutContent(facts);
  const { why: reason, own, next } = refusal;
  return next <= now
    ? { rolloutState: own ? "again" : "retry", state: "Failed", reason }
    : { rolloutState: own ? "unreachable" : "failed", state: "Failed", reason, next };
}

/**
 * The state of a cluster from which the Secret is being removed. A cluster that refuses does not
 * take another cluster's slot, and its reason stays while we try it again.
 */
export function removalStateOf({
  there,
  busy,
  refusal,
  now,
}: Pick<ClusterFacts, "there" | "busy" | "refusal" | "now">): Omit<Judgement, "state"> {
  if (there.is === "unknown") return { rolloutState: "unreachable" };
  if (there.is === "away") return { rolloutState: "unreachable", reason: there.why };
  const reason = refusal === undefined ? {} : { reason: refusal.why };
  if (busy) return { rolloutState: "busy", ...reason };
  if (refusal === undefined) return { rolloutState: "waiting" };
  return { rolloutState: refusal.next <= now ? "retry" : "failed", ...reason };
}

/**
 * Whether to give up a leaving cluster at its deadline. We give it up only if it is known to be
 * unreachable, or if it refuses. A cluster that answers and only waits for its turn is never given
 * up, however late it is. The same applies to a cluster that this process has not contacted yet.
 */
export const isGivenUp = ({ rolloutState, reason }: Omit<Judgement, "state">): boolean =>
  rolloutState === "failed" || (rolloutState === "unreachable" && reason !== undefined);

/**
 * A cluster that had its turn, and lost the content before proving it, comes after all others,
 * because each try takes a slot. Such a cluster keeps its state, so its deadline does not start
 * again.
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
      // The cluster had proved this content, and no longer has the proof. With a new deadline each
      // time, the cluster could keep its slot for ever.
      if (facts.former?.state === "Done")
        return { rolloutState: "unreachable", state: "Progressing", ...reason };
      const end = deadline === undefined ? Number.POSITIVE_INFINITY : begunAt(facts) + deadline;
      // The content is there and not known to be at fault, so others get their turns.
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
 * When the deadline began. A late cluster stays late until its nodes have the content, so the
 * deadline does not begin again.
 */
function begunAt(facts: ClusterFacts): number {
  const { former, late } = facts;
  if (former?.state === "Failed" && former.reason === late) return Number.NEGATIVE_INFINITY;
  return since(facts, "Progressing");
}
