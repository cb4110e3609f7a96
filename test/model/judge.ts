/**
 * How the oracle judges a pod: since when the pod is in its state, and the result of its grant.
 * This code follows the design's text, and shares nothing with controller/rollout/node-state.ts.
 */
import type { Memory, PodRecord } from "#controller/rollout/facts.ts";
import { keyOf, RELEASE, type Api, type Grant, type Mode, type Pod } from "./world.ts";

export const AWAY = 60;
export const AGAIN = 600;
const UNBROKEN = 3;
const SETTLED = 60;
const TIME: Record<Mode, number> = {
  Restart: 455,
  CredentialProvider: 760,
  CredentialProviderAnnotated: 760,
  Reread: 760,
};

/** Seconds that a change usually takes until the node has proved it. */
const USUAL: Record<Mode, number> = {
  Restart: 20,
  CredentialProvider: 20,
  CredentialProviderAnnotated: 20,
  Reread: 320,
};

export type Verdict = "none" | "proved" | "unproved" | "failed" | "excused" | "back";

type Writable<T> = { -readonly [K in keyof T]: T[K] };
export type Record_ = Writable<PodRecord>;

/** The memory as the oracle changes it. */
export type OracleMemory = {
  pods: Map<string, Record_>;
  places: Map<string, { created: number; at: number }>;
  raised: Map<string, Memory["raised"] extends ReadonlyMap<string, infer One> ? One : never>;
};

/** The record of a pod at this moment. */
export function observe(pod: Pod, memory: Memory, now: number): Record_ {
  const before = memory.pods.get(String(pod.uid));
  const ready = `${pod.ready} ${pod.since}`;
  const grant = pod.grant ? keyOf(pod.grant) : "";
  const same = before?.grant === grant;
  const sent = before?.sent;
  return {
    node: pod.node,
    created: pod.created,
    ready,
    readyAt: before?.ready === ready ? before.readyAt : now,
    awayAt: pod.unreachable > 0 ? (before?.awayAt ?? now) : undefined,
    grant,
    grantAt: before && same ? before.grantAt : now,
    provedAt: same ? before.provedAt : undefined,
    isSettled: (same || pod.grant?.rev === 0) && before?.isSettled === true,
    isUnchanged: !before || (same && before.isUnchanged && before.ready === ready),
    holds: false,
    syncs: same ? before.syncs : 0,
    sent: sent && sent.resourceVersion === String(pod.rv) && now - sent.at < 60 ? sent : undefined,
    over: undefined,
    failures: before?.failures,
    refused: same ? before.refused : undefined,
    kept: undefined,
    errors: undefined,
  };
}

/**
 * If the grant requests a termination message, only this message proves the grant. Without this
 * request, the pod must be Ready for 3 s without a break, and its condition's time must differ from
 * `since`.
 */
const isProved = (pod: Pod, grant: Grant, seen: Record_, now: number): boolean =>
  grant.word
    ? pod.message?.kind === "proved" && pod.message.key === keyOf(grant)
    : pod.ready && pod.since !== grant.since && now - seen.readyAt >= UNBROKEN;

/**
 * Whether the pod's readiness shows that its agent has read the grant. Then the pod's volume needs
 * no further sync.
 */
export function isWorking(pod: Pod, seen: Record_, mode: Mode, now: number): boolean {
  if (pod.since === pod.grant?.since || now - seen.grantAt >= USUAL[mode]) return false;
  return !pod.ready || now - seen.readyAt < UNBROKEN;
}

/** The pause before the n-th repetition: 10 minutes, doubled each time, up to 6 hours. */
export const pauseOf = (times: number): number => Math.min(6 * 3600, AGAIN * 2 ** (times - 1));

export const isAway = ({ awayAt }: Record_, now: number): boolean =>
  awayAt !== undefined && now - awayAt >= AWAY;

/** Whether admission has refused the pod's grant for at least a minute. */
export const isRefused = ({ refused }: Record_, now: number): boolean =>
  refused !== undefined && now - refused.at >= AWAY;

/**
 * Records whether the pod has proved its grant, and returns the result of the grant. A release
 * never fails.
 */
export function judge(
  pod: Pod,
  seen: Record_,
  { mode, api: { secret: newest }, now }: { mode: Mode; api: Api; now: number },
): Verdict {
  const release = newest?.digest === RELEASE ? newest.rev : -1;
  const { grant } = pod;
  const time = TIME[mode];
  const out = isAway(seen, now);
  const idle = !pod.ready && now - seen.readyAt >= AWAY;
  // If a pod was deleted while it had a grant, the pod that replaces it has a termination message
  // without having a grant. No other pod has one without a grant.
  const { kind, key = "" } = pod.message ?? {};
  const inherited = kind === "failed" && key.startsWith(`${newest?.rev}/${newest?.digest}/`);
  if (!grant && inherited) return "failed";
  if (!grant) return out || idle ? "excused" : "none";
  const proved = isProved(pod, grant, seen, now);
  const fellOver = seen.isSettled && idle && grant.rev !== release;
  if (proved) {
    seen.provedAt ??= now;
    seen.isSettled ||= now - seen.provedAt >= SETTLED;
    seen.grantAt = now;
  } else seen.provedAt = undefined;
  if (grant.rev === 0) {
    if (out) return "excused";
    if (proved) return "none";
    if (seen.isSettled) return idle ? "excused" : "none";
    return now - seen.grantAt >= time ? "excused" : "back";
  }
  if (pod.message?.key === keyOf(grant)) {
    if (pod.message.kind === "failed") return "failed";
    if (pod.message.kind === "unfit" || pod.message.kind === "behind") return "excused";
  }
  if (proved && !fellOver) return "proved";
  if (seen.isSettled) return out || idle ? "excused" : "proved";
  // The node has the served revision, and was NotReady before this controller started. Therefore
  // the node has proved the revision earlier.
  if (newest && grant.rev === newest.served && idle && seen.isUnchanged) {
    seen.isSettled = true;
    return "excused";
  }
  const lost = grant.rev === release ? "excused" : "failed";
  return out || now - seen.grantAt > time ? lost : "unproved";
}
