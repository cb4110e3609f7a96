/** Whether a user's latest edit is on every node that can be served. */
import type { ReadyReason } from "#api/reasons.ts";
import type { GlobalPullSecret, SourceStatus } from "#api/global-pull-secret.ts";
import { conditionOf } from "#kube/conditions.ts";
import { isObserved, isTrue } from "./condition.ts";

/** A source, and the current version of its Secret; undefined if the Secret does not exist. */
export type PresentSource = Readonly<{ source: string; version: string | undefined }>;

/** waiting: the controller will go on by itself. failed: a person has to act. */
export type Served = Readonly<{ is: "served" | "waiting" | "failed"; why: string }>;

/**
 * Judges the object against the versions of the Secrets. If the versions are not known, `present`
 * is empty and we rely on the object alone. For an instant after an edit, the object still
 * describes the former version.
 */
export function judgeServed(
  object: GlobalPullSecret | undefined,
  present: readonly PresentSource[],
): Served {
  if (object === undefined)
    return waiting("the controller has not made globalpullsecret/cluster yet");
  if (!isObserved(object))
    return waiting(`generation ${object.metadata.generation} of spec ${notRead}`);
  // A withdrawn object serves no version, whatever the sources are.
  if (object.spec?.managementState === "Withdrawn") return judgeWithdrawn(object);
  const told = present.map((one) => judgeSource(object, one));
  const open = told.find(({ is }) => is === "failed") ?? told.find(({ is }) => is === "waiting");
  if (open === undefined && isTrue(object, "Ready"))
    return { is: "served", why: conditionOf(object.status, "Ready")?.message ?? "" };
  if (open?.is === "failed") return open;
  // If the controller had not read a change before the pause, it does not serve the change during
  // the pause.
  if (object.spec?.managementState === "Paused")
    return failed("it is paused; kubectl pull-secret resume, when changes may go on");
  // Stalled may still describe the former version.
  const unread = told.some(({ why }) => why.endsWith(notRead));
  if (!unread && isTrue(object, "Stalled")) return failed(messageOf(object, "Stalled"));
  return open ?? waiting(messageOf(object, "Ready"));
}

const notRead = "is not read by the controller yet";

/** Reasons with which Ready reports that every node in reach has removed our entries. */
const givenBack: ReadonlySet<string> = new Set<ReadyReason>(["Withdrawn", "NodesAwaited"]);

function judgeWithdrawn(object: GlobalPullSecret): Served {
  const { reason = "", message = "" } = conditionOf(object.status, "Ready") ?? {};
  if (isTrue(object, "Ready") && givenBack.has(reason)) return { is: "served", why: message };
  if (isTrue(object, "Stalled")) return failed(messageOf(object, "Stalled"));
  return waiting(messageOf(object, "Ready"));
}

function judgeSource(object: GlobalPullSecret, { source, version }: PresentSource): Served {
  const status = object.status?.sources?.find(({ name }) => name === source);
  if (version === undefined) return judgeAbsent(source, status);
  if (status?.reason === "Forbidden") return failed(`${source}: ${status.message}`);
  if (!reaches(status?.resourceVersion, version))
    return waiting(`${source}: version ${version} ${notRead}`);
  if (status?.accepted === "False") return failed(`${source}: ${status.message}`);
  if (reaches(status?.servedResourceVersion, version)) return { is: "served", why: "" };
  const { summary = "no node is counted yet" } = object.status?.nodes ?? {};
  return waiting(`${source}: version ${version} is being rolled out (nodes: ${summary})`);
}

/**
 * After the controller has read the deletion and its grace period is over, Ready shows whether the
 * nodes follow it.
 */
function judgeAbsent(source: string, status: SourceStatus | undefined): Served {
  if (status?.resourceVersion !== undefined) return waiting(`${source}: its deletion ${notRead}`);
  return status?.reason === "WithdrawalAwaited"
    ? waiting(`${source}: ${status.message}`)
    : { is: "served", why: "" };
}

/** Compares versions as numbers. They are too long for JavaScript's number type. */
function reaches(found: string | undefined, wanted: string): boolean {
  return found !== undefined && /^\d+$/.test(found) && BigInt(found) >= BigInt(wanted);
}

const waiting = (why: string): Served => ({ is: "waiting", why });
const failed = (why: string): Served => ({ is: "failed", why });

function messageOf(object: GlobalPullSecret, type: "Ready" | "Stalled"): string {
  const { reason = "", message = "the controller has said nothing yet" } =
    conditionOf(object.status, type) ?? {};
  return reason === "" ? message : `${reason}: ${message}`;
}
