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

/**
 * The state of a cluster from which the Secret is being removed. After a refusal, the cluster takes
 * no place until the next try. During that try, status still shows the reason of the refusal.
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
  if (busy) return { rolloutState: "working", ...reason };
  if (refusal === undefined) return { rolloutState: "waiting" };
  return { rolloutState: "refused", isDue: refusal.next <= now, ...reason };
}

/**
 * Whether to give up a leaving cluster at its deadline. We give up only clusters that refuse, or
 * that did not answer this process. We never give up a cluster that answers and waits for its turn,
 * or that this process has not contacted yet.
 */
export const isGivenUp = ({ rolloutState, isDue, reason }: Omit<Judgement, "state">): boolean =>
  (rolloutState === "refused" && isDue !== true) ||
  (rolloutState === "unreachable" && reason !== undefined);

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
