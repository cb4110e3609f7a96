/** Decides whether a user's latest edit is in force on the nodes. */
import type { ReadyReason } from "#api/reasons.ts";
import type { GlobalPullSecret, SourceStatus } from "#api/global-pull-secret.ts";
import { conditionOf } from "#kube/conditions.ts";
import { isObserved, isTrue } from "./status.ts";

export type PresentSource = Readonly<{
  source: string;
  /**
   * The current version of the source's Secret. Undefined: the Secret does not exist. `hidden`: the
   * caller is not allowed to get the Secret.
   */
  version: string | undefined;
  /**
   * The version in the object's status when we read `version`. If `version` is undefined and the
   * status later has another version, a user has created the Secret in the meantime.
   */
  before?: string | undefined;
  /** Whether the user or spec.sources names the source. If so, the source's Secret must exist. */
  named?: boolean;
}>;

/**
 * `deleted`: the sources' Secrets were deleted, so no node should have their entries. `absent`:
 * absent nodes too must have confirmed a withdrawal.
 */
type Wanted = Readonly<{ deleted?: boolean; absent?: boolean }>;

/** `waiting`: the controller continues by itself. `failed`: a person has to act. */
export type Served = Readonly<{ is: "served" | "waiting" | "failed"; why: string }>;

/**
 * Compares the object with the current versions of the Secrets. The condition Ready is not enough:
 * just after an edit, Ready still describes the former version. Ready is also True when no Secret
 * exists and no node has a credential. If the caller is not allowed to get a Secret, we use the
 * version in the object's status instead.
 */
export function judgeServed(
  object: GlobalPullSecret | undefined,
  present: readonly PresentSource[],
  { deleted = false, absent = false }: Wanted = {},
): Served {
  if (object === undefined)
    return waiting("the controller has not created globalpullsecret/cluster yet");
  if (!isObserved(object))
    return waiting(`generation ${object.metadata.generation} of spec ${notRead}`);
  // While the object is withdrawn, no version of any source is served.
  if (object.spec?.managementState === "Withdrawn") return judgeWithdrawn(object, absent);
  const judgePresence = deleted ? judgeDeletion : judgeSource;
  const judged: readonly Judged[] = present.map((source) => judgePresence(object, source));
  const open =
    judged.find(({ is }) => is === "failed") ?? judged.find(({ is }) => is === "waiting");
  const isEmpty = !deleted && sourceless.has(conditionOf(object.status, "Ready")?.reason ?? "");
  if (open === undefined && isTrue(object, "Ready") && !isEmpty)
    return { is: "served", why: conditionOf(object.status, "Ready")?.message ?? "" };
  if (open?.is === "failed") return open;
  // During a pause, the controller serves no change that it had not read before the pause.
  if (object.spec?.managementState === "Paused")
    return failed("it is paused; to let changes continue, run kubectl pull-secret resume");
  // Until the controller has read the current version, Stalled might describe the former version.
  if (!judged.some(({ isUnread }) => isUnread) && isTrue(object, "Stalled"))
    return failed(messageOf(object, "Stalled"));
  return open ?? waiting(isEmpty ? empty : messageOf(object, "Ready"));
}

const empty =
  "NoSource: no source has credentials to apply; create additional-pull-secret, or give --deleted " +
  "if it was deleted";
const notRead = "is not read by the controller yet";

/** `isUnread`: the controller has not used the current version of the Secret yet. */
type Judged = Served & Readonly<{ isUnread?: boolean }>;
/** Reasons of Ready when no source has credentials. */
const sourceless: ReadonlySet<string> = new Set<ReadyReason>(["NoSource", "NodesLeftBehind"]);

/** Reasons of Ready which mean that every node that answered has removed our entries. */
const givenBack: ReadonlySet<string> = new Set<ReadyReason>([
  "Withdrawn",
  "NodesAwaited",
  "NodesLeftBehind",
]);

function judgeWithdrawn(object: GlobalPullSecret, absent: boolean): Served {
  const { reason = "", message = "" } = conditionOf(object.status, "Ready") ?? {};
  const isAwaited = absent && reason === "NodesAwaited";
  if (isTrue(object, "Ready") && givenBack.has(reason) && !isAwaited)
    return { is: "served", why: message };
  if (isTrue(object, "Stalled")) return failed(messageOf(object, "Stalled"));
  return waiting(messageOf(object, "Ready"));
}

const statusOf = ({ status }: GlobalPullSecret, source: string): SourceStatus | undefined =>
  status?.sources?.find(({ name }) => name === source);

function judgeSource(object: GlobalPullSecret, { source, ...present }: PresentSource): Judged {
  const status = statusOf(object, source);
  const isNew = present.version === undefined && status?.resourceVersion !== present.before;
  const isBelieved = isNew || present.version === "hidden";
  const version = isBelieved ? status?.resourceVersion : present.version;
  if (status?.reason === "Forbidden") return failed(`${source}: ${status.message}`);
  if (version === undefined) return judgeAbsent(source, status, present.named);
  if (!reaches(status?.resourceVersion, version)) {
    // An emptied Secret, or one that has lost most of its registries.
    const isKept = status?.reason === "WithdrawalAwaited" || status?.reason === "Kept";
    const why = isKept ? status.message : `version ${version} ${notRead}`;
    return { ...waiting(`${source}: ${why}`), isUnread: true };
  }
  if (status?.accepted === "False") return failed(`${source}: ${status.message}`);
  if (reaches(status?.servedResourceVersion, version)) return served;
  const { summary = "no node is counted yet" } = object.status?.nodes ?? {};
  return waiting(`${source}: version ${version} is being rolled out (nodes: ${summary})`);
}

/**
 * Judges a source without a Secret. If the user or spec.sources names the source, we wait until the
 * Secret exists.
 */
function judgeAbsent(source: string, status: SourceStatus | undefined, isNamed = false): Judged {
  const missing = "the Secret does not exist; create it, or give --deleted if it was deleted";
  const gone = judgeGone(source, status);
  return gone.is === "served" && isNamed
    ? waiting(`${source}: ${status?.message ?? missing}`)
    : gone;
}

function judgeDeletion(object: GlobalPullSecret, { source, version }: PresentSource): Judged {
  if (version !== undefined && version !== "hidden")
    return failed(`${source}: the Secret still exists; delete it, or leave out --deleted`);
  const status = statusOf(object, source);
  return status?.reason === "Kept"
    ? failed(`${source}: ${status.message}`)
    : judgeGone(source, status);
}

/**
 * Waits until the controller has read the deletion and the grace period has ended. After this,
 * Ready shows whether the nodes have removed the entries.
 */
function judgeGone(source: string, status: SourceStatus | undefined): Judged {
  if (status?.resourceVersion !== undefined)
    return { ...waiting(`${source}: its deletion ${notRead}`), isUnread: true };
  return status?.reason === "WithdrawalAwaited" ? waiting(`${source}: ${status.message}`) : served;
}

/** Compares versions as numbers. Versions are too long for JavaScript's number type. */
function reaches(version: string | undefined, minimum: string): boolean {
  return version !== undefined && /^\d+$/.test(version) && BigInt(version) >= BigInt(minimum);
}

const served: Served = { is: "served", why: "" };
const waiting = (why: string): Served => ({ is: "waiting", why });
const failed = (why: string): Served => ({ is: "failed", why });

function messageOf(object: GlobalPullSecret, type: "Ready" | "Stalled"): string {
  const { reason = "", message = "the controller has not reported yet" } =
    conditionOf(object.status, type) ?? {};
  return reason === "" ? message : `${reason}: ${message}`;
}
