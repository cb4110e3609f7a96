/**
 * Derives the rollout state of one cluster for the present content, by the first rule that matches.
 * Pure. Times are in milliseconds.
 */
import type { ClusterStatus } from "#api/fleet-secret.ts";
import type { RankedCluster, RolloutState } from "./order.ts";
import { sentence } from "./problems.ts";

/**
 * How long a cluster has a place for one content: for a write and its proof. After that, it is
 * slow. The first node of a cluster answers within a minute, even if its kubelet does not start.
 */
const placeMilliseconds = 120_000;

export type ClusterFacts = Readonly<{
  /**
   * What the cluster contains. In order: not known yet, unreachable, an object that we must not
   * touch, other content or no content, this content.
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
    | Readonly<{
        state: ClusterStatus["state"];
        since: number;
        /** When this content was first written to the cluster. */
        startedAt?: number | undefined;
        reason?: string | undefined;
      }>
    | undefined;
  now: number;
}>;

export type Judgement = Readonly<{
  rolloutState: RolloutState;
  isDue?: boolean;
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
  if (!busy && observed.is === "has") return withContent(facts, observed.proof, observed.why);
  // While we try a cluster again, its refusal still counts. If it did not, other clusters could
  // start during each try.
  if (refusal !== undefined) {
    const { why: reason, own, next } = refusal;
    const rolloutState = own ? "unreachable" : "refused";
    const time = busy ? {} : next <= now ? { isDue: true } : { next };
    return { rolloutState, state: "Failed", reason, ...time };
  }
  if (busy) return { ...placed(facts), state: "Progressing" };
  // A cluster that had proved this content and lost it still counts as done.
  if (facts.former?.state === "Done")
    return { rolloutState: "done", isDue: true, state: "Progressing" };
  if (facts.former?.startedAt === undefined) return { rolloutState: "waiting", state: "Waiting" };
  return { ...placed(facts), isDue: true, state: "Progressing" };
}

/** Why the Secret is still in a cluster that is leaving. */
export type Removal = Readonly<{
  reason?: string | undefined;
  /**
   * Whether to give the cluster up at its deadline. False during a try, and until the cluster has
   * answered this process, or failed to.
   */
  isStuck: boolean;
}>;

/**
 * The state of a removal after its last try. During a try, status still shows the reason of the
 * last refusal. `successor`: the FleetSecret that takes the Secret over.
 */
export function removalStateOf({
  observed,
  busy,
  refusal,
  successor,
}: Pick<ClusterFacts, "observed" | "busy" | "refusal"> &
  Readonly<{ successor?: string | undefined }>): Removal {
  if (observed.is === "unknown") return { isStuck: false };
  if (observed.is === "away" || observed.is === "foreign")
    return { reason: observed.why, isStuck: true };
  if (successor !== undefined) return { reason: sentence("taken", successor), isStuck: true };
  return { reason: refusal?.why, isStuck: refusal !== undefined && !busy };
}

function withContent(facts: ClusterFacts, proof: string, why: string | undefined): Judgement {
  const reason = why === undefined ? {} : { reason: why };
  switch (proof) {
    case "held":
      return { rolloutState: "unreachable", state: "Waiting", ...reason };
    case "refused":
      return { rolloutState: "refused", state: "Failed", ...reason };
    case "awaited": {
      const place = placed(facts);
      return place.rolloutState === "slow"
        ? { ...place, state: "Progressing", reason: sentence("slow") }
        : { ...place, state: "Progressing", ...reason };
    }
    default: {
      return { rolloutState: "done", state: "Done", ...reason };
    }
  }
}

/**
 * Whether the cluster still has its place. We count from the first write of this content, whatever
 * happened since, so a cluster that loses the content, or is away for a moment again and again, has
 * no longer a place than a cluster that is silent.
 */
function placed({
  former,
  now,
}: Pick<ClusterFacts, "former" | "now">): Pick<Judgement, "rolloutState" | "next"> {
  const end = (former?.startedAt ?? now) + placeMilliseconds;
  return now < end ? { rolloutState: "working", next: end } : { rolloutState: "slow" };
}

/** The state that the last status implies, until the cluster answers this process. */
export function rememberedState(
  { former, now }: Pick<ClusterFacts, "former" | "now">,
  isRefusal: boolean,
): RankedCluster["rolloutState"] {
  if (former?.state === "Done") return "done";
  if (former?.state === "Progressing") return placed({ former, now }).rolloutState;
  return former?.state === "Failed" && isRefusal ? "refused" : "unreachable";
}
