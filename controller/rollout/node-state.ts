/** What has become of a pod's grant, from its readiness, its word and the time. Pure. */
import type { Grant } from "#contract/grant.ts";
import { isSameGrant, type Now, type PodFacts } from "./facts.ts";
import { settledSeconds, type Excuse, type Seen } from "./memory.ts";

/** Seconds after which a node that is away, or has not started its agent, is excused. */
export const absenceSeconds = 60;

/**
 * Seconds for which a pod must be Ready without a break. A kubelet that starts calls a container
 * younger than 10 s Ready without a probe, until the first one, a second later.
 */
export const unbrokenSeconds = 3;

/** Seconds after which the node of an excused or failed grant may be granted the same again. */
const againSeconds = 600;

/** The longest such pause: a node that fails again and again is tried four times a day. */
const longestAgainSeconds = 21_600;

/** Seconds before what has happened so many times may be tried again: it doubles each time. */
export const againAfter = (times: number): number =>
  Math.min(longestAgainSeconds, againSeconds * 2 ** (times - 1));

/** Seconds after which a grant without an effect is followed by another sync of the volume. */
export const syncSeconds: readonly number[] = [3, 10, 20, 40];

export type Verdict =
  /** Without a grant, or with one that was taken back and is over. */
  | Readonly<{ is: "none" }>
  | Readonly<{ is: "proved" }>
  /** The node may be changing its kubelet. */
  | Readonly<{ is: "unproved" }>
  /** Taken back, and the agent has not confirmed it: a change that had begun may be under way. */
  | Readonly<{ is: "back" }>
  | Readonly<{ is: "failed"; because: "word" | "away" | "late" }>
  | Readonly<{ is: "excused"; because: Excuse }>;

export type Judged = Readonly<{
  verdict: Verdict;
  /** With what this verdict adds to it. */
  seen: Seen;
  /** Seconds after which the verdict may be another one although nothing changes. */
  changesIn: number;
}>;

const never = Number.POSITIVE_INFINITY;

/** Whether the pod has proved the grant that it holds. Its time until then, if it is only short. */
function proof({ ready, word }: PodFacts, grant: Grant, seen: Seen, { steady }: Now): number {
  if (grant.word && grant.revision > 0)
    return word?.kind === "proved" && isSameGrant(word, grant) ? 0 : never;
  if (!ready.is || ready.since === grant.since) return never;
  return Math.max(0, unbrokenSeconds - (steady - seen.readyAt));
}

/** True while the node has been unreachable for `absenceSeconds`. */
export const isAway = ({ awayAt }: Seen, { steady }: Now): boolean =>
  awayAt !== undefined && steady - awayAt >= absenceSeconds;

/** True while admission has refused to let this pod be granted anything for `absenceSeconds`. */
export const isRefused = ({ refused }: Seen, { steady }: Now): boolean =>
  refused !== undefined && steady - refused.at >= absenceSeconds;

type Circumstances = Readonly<{
  now: Now;
  /**
   * Its grant is one of a withdrawal. That never fails and is never refused, so a node that does
   * not fulfil it in time is excused.
   */
  isRelease: boolean;
  /** Its grant names what new nodes take, which the nodes that existed have proved. */
  isServed: boolean;
  /** It has no grant, and reports that its predecessor's has failed. */
  inherits: boolean;
  /** How long a grant may stay unproved. */
  seconds: number;
}>;

/** The verdict on one pod. */
export function judge(
  pod: PodFacts,
  seen: Seen,
  { now, isRelease, isServed, inherits, seconds }: Circumstances,
): Judged {
  const { grant } = pod;
  const out = isAway(seen, now);
  const left = (at: number | undefined, wait: number): number =>
    at === undefined || now.steady - at >= wait ? never : wait - (now.steady - at);
  const answer = (verdict: Verdict, changesIn: number, proved?: "now" | "before"): Judged => {
    const provedAt = proved === "now" ? (seen.provedAt ?? now.steady) : undefined;
    const isSettled =
      seen.isSettled ||
      proved === "before" ||
      (provedAt !== undefined && now.steady - provedAt >= settledSeconds);
    const grantAt = proved === "now" ? now.steady : seen.grantAt;
    return { verdict, seen: { ...seen, provedAt, isSettled, grantAt }, changesIn };
  };
  const isIdle = !pod.ready.is && now.steady - seen.readyAt >= absenceSeconds;
  const absence = Math.min(
    left(seen.awayAt, absenceSeconds),
    pod.ready.is ? never : left(seen.readyAt, absenceSeconds),
  );
  if (grant === undefined) {
    if (inherits) return answer({ is: "failed", because: "word" }, never);
    if (out) return answer({ is: "excused", because: "away" }, never);
    return isIdle
      ? answer({ is: "excused", because: "not-started" }, never)
      : answer({ is: "none" }, absence);
  }
  const wait = proof(pod, grant, seen, now);
  if (grant.revision === 0) {
    if (out) return answer({ is: "excused", because: "away" }, never);
    if (wait === 0) return answer({ is: "none" }, left(seen.provedAt, settledSeconds), "now");
    if (seen.isSettled)
      return isIdle
        ? answer({ is: "excused", because: "not-ready" }, never)
        : answer({ is: "none" }, absence);
    const late = left(seen.grantAt, seconds);
    return late === never
      ? answer({ is: "excused", because: "not-ready" }, never)
      : answer({ is: "back" }, Math.min(wait, late, absence));
  }
  if (pod.word !== undefined && isSameGrant(pod.word, grant)) {
    const { kind } = pod.word;
    if (kind === "failed") return answer({ is: "failed", because: "word" }, never);
    if (kind !== "proved") return answer({ is: "excused", because: kind }, never);
  }
  // A word stays where it is while the agent does not run: only a withdrawal needs no more than it.
  if (wait === 0 && (isRelease || !seen.isSettled || !isIdle))
    return answer({ is: "proved" }, Math.min(absence, left(seen.provedAt, settledSeconds)), "now");
  if (seen.isSettled) {
    // It did prove it: whatever stops its agent now is not the content's doing.
    if (out) return answer({ is: "excused", because: "away" }, never);
    return isIdle
      ? answer({ is: "excused", because: "not-ready" }, never)
      : answer({ is: "proved" }, Math.min(wait, absence));
  }
  // A controller that has just started does not know that it was proved before its agent stopped.
  if (isServed && isIdle && seen.isUnchanged)
    return answer({ is: "excused", because: "not-ready" }, never, "before");
  if (out)
    return isRelease
      ? answer({ is: "excused", because: "away" }, never)
      : answer({ is: "failed", because: "away" }, never);
  if (now.steady - seen.grantAt > seconds)
    return isRelease
      ? answer({ is: "excused", because: "not-ready" }, never)
      : answer({ is: "failed", because: "late" }, never);
  return answer({ is: "unproved" }, Math.min(wait, absence, left(seen.grantAt, seconds) + 1));
}
