/**
 * The state of a pod's grant, from the pod's readiness, its agent's termination message and the
 * time. Also the record of each pod between two decisions. Pure. A restart of the controller loses
 * the records. Waits then begin again, and deleted pods no longer occupy slots.
 */
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

/** Seconds after which a node is excused if it is unreachable or has not started its agent. */
export const absenceSeconds = 60;

/**
 * Seconds for which a pod must be Ready without interruption. A kubelet that has just started
 * reports a container younger than 10 s as Ready without a probe. Its first probe, one second
 * later, corrects this.
 */
export const unbrokenSeconds = 3;

/** Seconds before a node that failed or was excused is granted the same content again. */
const againSeconds = 600;

/** The longest pause before a node is granted the same content again: four tries a day. */
const longestAgainSeconds = 21_600;

/** Seconds before the next try after `times` failures. The pause doubles with each failure. */
export const retrySeconds = (times: number): number =>
  Math.min(longestAgainSeconds, againSeconds * 2 ** (times - 1));

/**
 * Seconds after which a grant without effect triggers another sync of the volume. If the agent
 * restarts the kubelet at once, the pod is reported as NotReady about 2 s after its grant. So 3 s
 * would be too soon for slow nodes.
 */
export const syncSeconds: readonly number[] = [5, 10, 20, 40];

/**
 * Seconds until another sync of the volume can be useful. If a pod turned NotReady after its grant,
 * its agent has read the grant and is at work. The kubelet syncs a pod whose readiness changes, so
 * it also mounts a Secret that arrived after the grant. Another sync is useful only after `usual`
 * seconds, or if the pod is Ready again without a proof, because the kubelet might then not have
 * mounted the content yet.
 */
export function workingSeconds(
  { grant, ready }: PodFacts,
  { grantAt, readyAt }: PodRecord,
  usual: number,
  { steady }: Now,
): number {
  if (grant === undefined || ready.since === grant.since) return 0;
  const remaining = grantAt + usual - steady;
  return Math.max(
    0,
    ready.is ? Math.min(remaining, readyAt + unbrokenSeconds - steady) : remaining,
  );
}

export type GrantState =
  /** No grant, or a grant that is completely revoked. */
  | Readonly<{ is: "none" }>
  | Readonly<{ is: "proved" }>
  /** The agent might be changing the node. */
  | Readonly<{ is: "unproved" }>
  /**
   * The grant was revoked, but the agent has not confirmed this. A change might still be under way.
   */
  | Readonly<{ is: "back" }>
  | Readonly<{ is: "failed"; because: "word" | "away" | "late" }>
  | Readonly<{ is: "excused"; because: ExcuseReason }>;

export type Judgement = Readonly<{
  grantState: GrantState;
  /** The record, updated with this state. */
  record: PodRecord;
  /** Seconds until the passing of time alone can change the state. */
  changesIn: number;
}>;

const never = Number.POSITIVE_INFINITY;

/**
 * Seconds until the pod will have proved its grant. 0: already proved. Infinite: the pod must first
 * change.
 */
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

/** True once admission has refused grants of this pod for `absenceSeconds`. */
export const isRefused = ({ refused }: PodRecord, { steady }: Now): boolean =>
  refused !== undefined && steady - refused.at >= absenceSeconds;

type Circumstances = Readonly<{
  now: Now;
  /**
   * The grant belongs to a withdrawal. Such a grant never fails and is never refused. A node that
   * does not prove the grant in time is excused.
   */
  isRelease: boolean;
  /** The grant names the content that new nodes get. Existing nodes have proved this content. */
  isServed: boolean;
  /** The pod has no grant, and reports that the previous pod's grant failed. */
  inherits: boolean;
  /** How many seconds a grant can stay unproved before its node fails or is excused. */
  seconds: number;
}>;

export function judgeGrant(
  pod: PodFacts,
  record: PodRecord,
  { now, isRelease, isServed, inherits, seconds }: Circumstances,
): Judgement {
  const { grant } = pod;
  const out = isAway(record, now);
  const remainingOf = (at: number | undefined, wait: number): number =>
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
    remainingOf(record.awayAt, absenceSeconds),
    pod.ready.is ? never : remainingOf(record.readyAt, absenceSeconds),
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
    if (wait === 0)
      return answer({ is: "none" }, remainingOf(record.provedAt, settledSeconds), "now");
    if (record.isSettled)
      return isIdle
        ? answer({ is: "excused", because: "not-ready" }, never)
        : answer({ is: "none" }, absence);
    const late = remainingOf(record.grantAt, seconds);
    return late === never
      ? answer({ is: "excused", because: "not-ready" }, never)
      : answer({ is: "back" }, Math.min(wait, late, absence));
  }
  if (pod.terminationMessage !== undefined && isSameGrant(pod.terminationMessage, grant)) {
    const { kind } = pod.terminationMessage;
    if (kind === "failed") return answer({ is: "failed", because: "word" }, never);
    if (kind !== "proved") return answer({ is: "excused", because: kind }, never);
  }
  // In a withdrawal, the agent's termination message is the only proof, and the message remains
  // when the agent stops.
  if (wait === 0 && (isRelease || !record.isSettled || !isIdle))
    return answer(
      { is: "proved" },
      Math.min(absence, remainingOf(record.provedAt, settledSeconds)),
      "now",
    );
  if (record.isSettled) {
    // The pod has proved the content before, so its agent stopped for another reason.
    if (out) return answer({ is: "excused", because: "away" }, never);
    return isIdle
      ? answer({ is: "excused", because: "not-ready" }, never)
      : answer({ is: "proved" }, Math.min(wait, absence));
  }
  // The pod proved the content, but a controller that has just started has no record of the proof.
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
  return answer(
    { is: "unproved" },
    Math.min(wait, absence, remainingOf(record.grantAt, seconds) + 1),
  );
}

/**
 * If a grant has been proved for this many seconds, later trouble does not count as a failure of
 * the grant.
 */
const settledSeconds = 60;

/** Seconds after which a request without an answer can no longer take effect. */
const sentSeconds = 60;

/**
 * True while the result of the grant that was sent is unknown: the pod still has the version for
 * which the grant was sent. Only a new version of the pod shows the result.
 */
const isUnseen = ({ sent }: PodRecord, { resourceVersion }: PodFacts, steady: number): boolean =>
  sent?.resourceVersion === resourceVersion && steady - sent.at < sentSeconds;

/** The updated record of a pod, without what `judgeGrant` adds. */
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
      refusedDeletion: undefined,
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
    // Revoking a proved grant starts no change on the node, so the pod stays settled.
    isSettled: (isSame || pod.grant?.revision === 0) && before.isSettled,
    isUnchanged: isSame && before.isUnchanged && before.ready === ready,
    syncs: isSame ? before.syncs : 0,
    sent: isUnseen(before, pod, steady) ? before.sent : undefined,
    over: (pod.grant?.revision ?? 0) > 0 ? undefined : before.over,
    refused: isSame ? before.refused : undefined,
  };
}

/**
 * When this process first saw each Node without a pod. Only a list of all Nodes shows such Nodes.
 */
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

/** Shown if a refusal has no reason. */
const unknownReason = "reason unknown";

/** Changes the record of a pod, if there is one. */
type Note = (uid: string, change: (record: PodRecord) => PodRecord) => void;

/**
 * Records the results of writes in `holder`. The records are copied only at the first call, because
 * there can be 5,000 pods and as many calls.
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
 * The record after a write of the pod that certainly had no effect. If the write succeeded or got
 * no answer, the record stays as the decision made it.
 */
export function afterRefusal(
  record: PodRecord,
  why: "conflict" | "gone" | "busy" | "admission" | "deletion" | "unsent",
  { steady }: Now,
  words = unknownReason,
): PodRecord {
  const since = (before: Refused | undefined): Refused => {
    return { at: before?.at ?? steady, last: steady, why: words };
  };
  const refused = why === "admission" ? since(record.refused) : record.refused;
  const refusedDeletion =
    why === "deletion" ? since(record.refusedDeletion) : record.refusedDeletion;
  // A sync that was not written does not count, so that the controller raises `sync` again.
  const syncs =
    why === "admission" || why === "deletion" ? record.syncs : Math.max(0, record.syncs - 1);
  const holds = record.sent?.held ?? record.holds;
  return { ...record, sent: undefined, refused, refusedDeletion, holds, syncs };
}

/** How many writes of one version of a pod must fail before they count as refused. */
const mostErrors = 4;

/**
 * The record after a conflict or an unexplained error. If such results repeat while the pod does
 * not change, they count as a refusal. Without this rule, the node would occupy its slot for ever.
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
