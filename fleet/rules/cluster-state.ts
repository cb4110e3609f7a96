/**
 * The standing of one cluster towards the present content: a table, of which the first match
 * counts. Pure. Times are milliseconds.
 */
import type { ClusterStatus } from "#api/fleet-secret.ts";
import type { RolloutState } from "./order.ts";

export type ClusterFacts = Readonly<{
  /**
   * What is there: not known yet, no answer, somebody else's object, other content or none, or this
   * content.
   */
  there:
    | Readonly<{ is: "unknown" }>
    /** `lasting`: for a reason that only a person can end. */
    | Readonly<{ is: "away"; why: string; lasting?: boolean }>
    | Readonly<{ is: "foreign"; why: string }>
    | Readonly<{ is: "other"; present: boolean }>
    | Readonly<{
        is: "has";
        proof: "proved" | "unasked" | "awaited" | "held" | "refused";
        why?: string | undefined;
      }>;
  /** A write is under way. */
  busy: boolean;
  /**
   * Why this content, or its removal, was refused. `own`: for a reason of the cluster's own.
   * `next`: when it may be tried again.
   */
  refusal: Readonly<{ why: string; own: boolean; next: number }> | undefined;
  /** What status last said, if that was about this content. */
  former:
    | Readonly<{ state: ClusterStatus["state"]; since: number; reason?: string | undefined }>
    | undefined;
  now: number;
  /** rollout.minSuccessTime. */
  soak: number;
  /** rollout.progressDeadline; undefined: none. */
  deadline: number | undefined;
  /** The message for a cluster that missed the deadline. */
  late: string;
}>;

export type Judgement = Readonly<{
  rolloutState: RolloutState;
  state: ClusterStatus["state"];
  reason?: string;
  /** When to look again even if nothing happens. */
  next?: number;
}>;

export function rolloutStateOf(facts: ClusterFacts): Judgement {
  const { there, busy, refusal, now } = facts;
  if (there.is === "unknown") return { rolloutState: "unreachable", state: "Waiting" };
  if (there.is === "away") {
    const state = there.lasting === true ? "Failed" : "Unreachable";
    return { rolloutState: "unreachable", state, reason: there.why };
  }
  // The content is not at fault, so this holds up no other cluster.
  if (there.is === "foreign")
    return { rolloutState: "unreachable", state: "Failed", reason: there.why };
  // The others would get their turns in the instant in which one that refused is tried again.
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
 * The standing of a cluster that is to give back what was placed there. One that refuses takes no
 * place of another, and its reason stays while it is asked again.
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
 * Whether a cluster that is leaving is given up at its deadline: one that is known to be away, or
 * that refuses. One that answers and has only not had its turn never is, however late it is; nor is
 * one that this process has not asked yet.
 */
export const isGivenUp = ({ rolloutState, reason }: Omit<Judgement, "state">): boolean =>
  rolloutState === "failed" || (rolloutState === "unreachable" && reason !== undefined);

/**
 * One that had its turn, and lost the content before it proved it, comes after all others: each of
 * its tries would keep a slot. It keeps its state, and so the time at which its deadline began.
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
      // It proved this very content, and takes that back. If it kept its slot, with a new deadline,
      // it could do so for ever.
      if (facts.former?.state === "Done")
        return { rolloutState: "unreachable", state: "Progressing", ...reason };
      const end = deadline === undefined ? Number.POSITIVE_INFINITY : begunAt(facts) + deadline;
      // The content is there, and nothing says that it is at fault: others get their turns.
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
 * When the deadline began to run. A late cluster stays late until its nodes have the content, so
 * its time does not begin again.
 */
function begunAt(facts: ClusterFacts): number {
  const { former, late } = facts;
  if (former?.state === "Failed" && former.reason === late) return Number.NEGATIVE_INFINITY;
  return since(facts, "Progressing");
}
