/** The status of a SyncSecret. Pure. */
import {
  syncStalledReasons,
  type SyncConditionType,
  type SyncReason,
  type SyncWarningReason,
} from "#api/sync-reasons.ts";
import type { SyncSecretStatus } from "#api/sync-secret.ts";
import { withHelp } from "#contract/help.ts";
import { timed, timeOf } from "#kube/conditions.ts";

/** The result of one reconcile. */
export type Found = Readonly<{
  reason: SyncReason;
  message: string;
  /** Name and version of the Secret. Absent until this program has read the Secret. */
  secretName?: string;
  resourceVersion?: string;
  /** Why we will soon no longer be able to serve the object. */
  warning?: string | undefined;
}>;

type Reason = Readonly<{ reason: SyncReason | SyncWarningReason; message: string }>;

const stalls = (reason: SyncReason): boolean => Object.hasOwn(syncStalledReasons, reason);

/** The status to write. A condition keeps its lastTransitionTime while its status is the same. */
export function statusOf(
  { reason, message, secretName, resourceVersion, warning }: Found,
  generation: number,
  now: Date,
  former: SyncSecretStatus = {},
): SyncSecretStatus {
  const condition = (
    type: SyncConditionType,
    isTrue: boolean,
    its: Reason = { reason, message },
  ) => {
    const status = isTrue ? ("True" as const) : ("False" as const);
    const text = withHelp(its.message);
    return { type, status, ...its, message: text, observedGeneration: generation };
  };
  const warned = former.conditions?.some(({ type }) => type === "Warning") === true;
  const untimed = [
    condition("Ready", reason === "Synced"),
    condition("Stalled", stalls(reason)),
    ...(warning !== undefined
      ? [condition("Warning", true, { reason: "TokenEnds", message: warning })]
      : warned
        ? [condition("Warning", false, { reason: "None", message: "" })]
        : []),
  ];
  return {
    observedGeneration: generation,
    ...(secretName === undefined ? {} : { secretName }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    conditions: timed(untimed, former.conditions, timeOf(now)),
  };
}

/** True if two statuses are equal. The order of their conditions does not count. */
export function sameStatus(one: SyncSecretStatus, other: SyncSecretStatus = {}): boolean {
  return comparable(one) === comparable(other);
}

function comparable(status: SyncSecretStatus): string {
  const conditions = (status.conditions ?? [])
    .map((one) => [
      one.type,
      one.status,
      one.reason,
      one.message ?? "",
      one.observedGeneration ?? 0,
      one.lastTransitionTime,
    ])
    .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1));
  const { observedGeneration = 0, secretName = "", resourceVersion = "" } = status;
  return JSON.stringify([observedGeneration, secretName, resourceVersion, conditions]);
}
