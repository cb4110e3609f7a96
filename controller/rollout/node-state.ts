/** What has become of a pod's grant, from its readiness, its word and the time. Pure. */
import {
  type ExcuseReason,
  type Memory,
  type Refused,
  type PodRecord,
  isSameGrant,
  type Now,
  type PodFacts,
  type Snapshot,
} from "./facts.ts";
import { type Grant, keyOf } from "#contract/grant.ts";

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
export const retrySeconds = (times: number): number =>
  Math.min(longestAgainSeconds, againSeconds * 2 ** (times - 1));

/** Seconds after which a grant without an effect is followed by another sync of the volume. */
export const syncSeconds: readonly number[] = [3, 10, 20, 40];

export type GrantState =
  /** Without a grant, or with one that was taken back and is over. */
  | Readonly<{ is: "none" }>
  | Readonly<{ is: "proved" }>
  /** The node may be changing its kubelet. */
  | Readonly<{ is: "unproved" }>
  /** Taken back, and the agent has not confirmed it: a change that had begun may be under way. */
  | Readonly<{ is: "back" }>
  | Readonly<{ is: "failed"; because: "word" | "away" | "late" }>
  | Readonly<{ is: "excused"; because: ExcuseReason }>;

export type Judgement = Readonly<{
  grantState: GrantState;
  /** With what this verdict adds to it. */
  record: PodRecord;
  /** Seconds after which the verdict may be another one although nothing changes. */
  changesIn: number;
}>;

const never = Number.POSITIVE_INFINITY;

/** Whether the pod has proved the grant that it holds. Its time until then, if it is only short. */
function proof(
  { ready, terminationMessage: message }: PodFacts,
  grant: Grant,
  record: PodRecord,
  { steady }: Now,
): number {
  if (grant.word && grant.revision > 0)
    return message?.kind === "proved" && isSameGrant(message, grant) ? 0 : never;
  if (!ready.is || ready.since === grant.since) return never;
  return Math.max(0, unbrokenSeconds - (steady - record.readyAt));
}

/** True while the node has been unreachable for `absenceSeconds`. */
export const isAway = ({ awayAt }: PodRecord, { steady }: Now): boolean =>
  awayAt !== undefined && steady - awayAt >= absenceSeconds;

/** True while admission has refused to let this pod be granted anything for `absenceSeconds`. */
export const isRefused = ({ refused }: PodRecord, { steady }: Now): boolean =>
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
export function judgeGrant(
  pod: PodFacts,
  record: PodRecord,
  { now, isRelease, isServed, inherits, seconds }: Circumstances,
): Judgement {
  const { grant } = pod;
  const out = isAway(record, now);
  const left = (at: number | undefined, wait: number): number =>
    at === undefined || now.steady - at >= wait ? never : wait - (now.steady - at);
  const answer = (
    grantState: GrantState,
    changesIn: number,
    proved?: "now" | "before",
  ): Judgement => {
    const provedAt = proved === "now" ? (record.provedAt ?? now.steady) : undefined;
    const isSettled =
      record.isSettled ||
      proved === "before" ||
      (provedAt !== undefined && now.steady - provedAt >= settledSeconds);
    const grantAt = proved === "now" ? now.steady : record.grantAt;
    return { grantState, record: { ...record, provedAt, isSettled, grantAt }, changesIn };
  };
  const isIdle = !pod.ready.is && now.steady - record.readyAt >= absenceSeconds;
  const absence = Math.min(
    left(record.awayAt, absenceSeconds),
    pod.ready.is ? never : left(record.readyAt, absenceSeconds),
  );
  if (grant === undefined) {
    if (inherits) return answer({ is: "failed", because: "word" }, never);
    if (out) return answer({ is: "excused", because: "away" }, never);
    return isIdle
      ? answer({ is: "excused", because: "not-started" }, never)
      : answer({ is: "none" }, absence);
  }
  const wait = proof(pod, grant, record, now);
  if (grant.revision === 0) {
    if (out) return answer({ is: "excused", because: "away" }, never);
    if (wait === 0) return answer({ is: "none" }, left(record.provedAt, settledSeconds), "now");
    if (record.isSettled)
      return isIdle
        ? answer({ is: "excused", because: "not-ready" }, never)
        : answer({ is: "none" }, absence);
    const late = left(record.grantAt, seconds);
    return late === never
      ? answer({ is: "excused", because: "not-ready" }, never)
      : answer({ is: "back" }, Math.min(wait, late, absence));
  }
  if (pod.terminationMessage !== undefined && isSameGrant(pod.terminationMessage, grant)) {
    const { kind } = pod.terminationMessage;
    if (kind === "failed") return answer({ is: "failed", because: "word" }, never);
    if (kind !== "proved") return answer({ is: "excused", because: kind }, never);
  }
  // A word stays where it is while the agent does not run: only a withdrawal needs no more than it.
  if (wait === 0 && (isRelease || !record.isSettled || !isIdle))
    return answer(
      { is: "proved" },
      Math.min(absence, left(record.provedAt, settledSeconds)),
      "now",
    );
  if (record.isSettled) {
    // It did prove it: whatever stops its agent now is not the content's doing.
    if (out) return answer({ is: "excused", because: "away" }, never);
    return isIdle
      ? answer({ is: "excused", because: "not-ready" }, never)
      : answer({ is: "proved" }, Math.min(wait, absence));
  }
  // A controller that has just started does not know that it was proved before its agent stopped.
  if (isServed && isIdle && record.isUnchanged)
    return answer({ is: "excused", because: "not-ready" }, never, "before");
  if (out)
    return isRelease
      ? answer({ is: "excused", because: "away" }, never)
      : answer({ is: "failed", because: "away" }, never);
  if (now.steady - record.grantAt > seconds)
    return isRelease
      ? answer({ is: "excused", because: "not-ready" }, never)
      : answer({ is: "failed", because: "late" }, never);
  return answer({ is: "unproved" }, Math.min(wait, absence, left(record.grantAt, seconds) + 1));
}

/** Seconds for which a grant must be proved, so that what happens later is not its failure. */
const settledSeconds = 60;

/** Seconds after which a request without an answer has no effect any more. */
const sentSeconds = 60;

/** Any other version of the pod shows what became of the grant that was sent for this one. */
const isUnseen = ({ sent }: PodRecord, { resourceVersion }: PodFacts, steady: number): boolean =>
  sent?.resourceVersion === resourceVersion && steady - sent.at < sentSeconds;

/** The memory of a pod after this look at it, apart from what its verdict adds. */
export function updateRecord(
  pod: PodFacts,
  before: PodRecord | undefined,
  { steady }: Now,
): PodRecord {
  const ready = `${pod.ready.is} ${pod.ready.since}`;
  const grant = pod.grant === undefined ? "" : keyOf(pod.grant);
  const isAway = pod.unreachable !== undefined;
  if (before === undefined)
    return {
      node: pod.node,
      created: pod.created,
      ready,
      readyAt: steady,
      awayAt: isAway ? steady : undefined,
      grant,
      grantAt: steady,
      provedAt: undefined,
      isSettled: false,
      isUnchanged: true,
      holds: false,
      syncs: 0,
      sent: undefined,
      over: undefined,
      failures: undefined,
      refused: undefined,
      kept: undefined,
      errors: undefined,
    };
  const isSame = before.grant === grant;
  return {
    ...before,
    ready,
    readyAt: before.ready === ready ? before.readyAt : steady,
    awayAt: isAway ? (before.awayAt ?? steady) : undefined,
    grant,
    grantAt: isSame ? before.grantAt : steady,
    provedAt: isSame ? before.provedAt : undefined,
    // To take back what was proved begins no change.
    isSettled: (isSame || pod.grant?.revision === 0) && before.isSettled,
    isUnchanged: isSame && before.isUnchanged && before.ready === ready,
    syncs: isSame ? before.syncs : 0,
    sent: isUnseen(before, pod, steady) ? before.sent : undefined,
    over: (pod.grant?.revision ?? 0) > 0 ? undefined : before.over,
    refused: isSame ? before.refused : undefined,
  };
}

/** Since when each Node without a pod has been seen so. Only a whole list shows one. */
export function updatePodless(
  { nodes, pods }: Snapshot,
  before: Memory,
  { steady }: Now,
): Memory["podless"] {
  if (!nodes.all && before.podless.size === 0) return before.podless;
  const withPod = new Set(pods.map(({ node }) => node));
  if (!nodes.all) return new Map([...before.podless].filter(([, { node }]) => !withPod.has(node)));
  const podless = new Map<string, { node: string; at: number }>();
  for (const [name, node] of nodes.byName)
    if (node !== undefined && !withPod.has(name))
      podless.set(node.uid, before.podless.get(node.uid) ?? { node: name, at: steady });
  return podless;
}

/** Words of a refusal without a reason. */
const noWords = "its reason is not known";

/** Changes what is remembered of a pod, if anything is. */
type Note = (uid: string, change: (record: PodRecord) => PodRecord) => void;

/**
 * Notes in `holder` what became of writes. The memory that is there is copied at the first note,
 * and only then: there may be 5,000 pods, and as many notes.
 */
export function recordUpdater(holder: { grants: Memory }): Note {
  let pods = new Map<string, PodRecord>();
  return (uid, change) => {
    const record = holder.grants.pods.get(uid);
    if (record === undefined) return;
    if (holder.grants.pods !== pods) {
      pods = new Map(holder.grants.pods);
      holder.grants = { ...holder.grants, pods };
    }
    pods.set(uid, change(record));
  };
}

/**
 * What became of the write of a pod, where the answer is certain: nothing was written. After no
 * answer, or success, the memory stays as the decision made it.
 */
export function afterRefusal(
  record: PodRecord,
  why: "conflict" | "gone" | "busy" | "admission" | "deletion" | "unsent",
  { steady }: Now,
  words = noWords,
): PodRecord {
  const since = (before: Refused | undefined): Refused => {
    return { at: before?.at ?? steady, last: steady, why: words };
  };
  const refused = why === "admission" ? since(record.refused) : record.refused;
  const kept = why === "deletion" ? since(record.kept) : record.kept;
  // A sync that was not written is raised again.
  const syncs =
    why === "admission" || why === "deletion" ? record.syncs : Math.max(0, record.syncs - 1);
  const holds = record.sent?.held ?? record.holds;
  return { ...record, sent: undefined, refused, kept, holds, syncs };
}

/** Writes of one version of a pod without an effect after which they count as refused. */
const mostErrors = 4;

/**
 * What became of the write of a pod, where the answer is a conflict or an error that is not
 * explained. Repeated while the pod is seen unchanged it counts as a refusal: nothing else would
 * end it, and its node's place would never be free.
 */
export function afterError(
  record: PodRecord,
  { resourceVersion }: Pick<PodFacts, "resourceVersion">,
  now: Now,
  as: "admission" | "deletion",
  words: string,
): PodRecord {
  const isSame = record.errors?.resourceVersion === resourceVersion;
  const count = (isSame ? (record.errors?.count ?? 0) : 0) + 1;
  const counted = { ...record, errors: { resourceVersion, count } };
  return count < mostErrors ? counted : afterRefusal(counted, as, now, words);
}
