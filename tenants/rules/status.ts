/** The status of a SyncSecret. Pure. */
import {
  syncStalledReasons,
  type SyncConditionType,
  type SyncReason,
  type SyncWarningReason,
} from "#api/sync-reasons.ts";
import type { SyncSecret, SyncSecretStatus } from "#api/sync-secret.ts";
import { conditionsOf, timeOf, truth } from "#kube/conditions.ts";

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

type Row = Readonly<{
  type: SyncConditionType;
  status: "True" | "False" | "Unknown";
  reason: SyncReason | SyncWarningReason;
  message: string;
}>;

/** Reasons when we cannot find out whether the Secret still has the content. */
const unknown: ReadonlySet<SyncReason> = new Set(["Unreachable", "Denied"]);

const stalls = (reason: SyncReason): boolean => Object.hasOwn(syncStalledReasons, reason);

/** The status to write. A condition keeps its lastTransitionTime while its status is the same. */
export function statusOf(
  { reason, message, secretName, resourceVersion, warning }: Found,
  generation: number,
  now: Date,
  former: SyncSecretStatus = {},
): SyncSecretStatus {
  const warned = former.conditions?.some(({ type }) => type === "Warning") === true;
  const rows: readonly Row[] = [
    {
      type: "Ready",
      status: unknown.has(reason) ? "Unknown" : truth(reason === "Synced"),
      reason,
      message,
    },
    { type: "Stalled", status: truth(stalls(reason)), reason, message },
    ...(warning !== undefined
      ? [{ type: "Warning", status: "True", reason: "TokenEnds", message: warning } as const]
      : warned
        ? [{ type: "Warning", status: "False", reason: "None", message: "" } as const]
        : []),
  ];
  return {
    observedGeneration: generation,
    ...(secretName === undefined ? {} : { secretName }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    conditions: conditionsOf(rows, generation, former.conditions, timeOf(now)),
  };
}

/** Name and version of the Secret in the old status, so that the new status contains them too. */
export function secretFields({
  status,
}: SyncSecret): Pick<Found, "secretName" | "resourceVersion"> {
  const { secretName, resourceVersion } = status ?? {};
  return {
    ...(secretName === undefined ? {} : { secretName }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}
