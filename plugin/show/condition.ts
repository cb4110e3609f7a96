/** Reads the conditions of GlobalPullSecret's status. */
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import type { ConditionType } from "#api/reasons.ts";
import { conditionOf } from "#kube/conditions.ts";

export function isTrue({ status }: GlobalPullSecret, type: ConditionType): boolean {
  return conditionOf(status, type)?.status === "True";
}

/** Whether the status describes the current spec. */
export function isObserved({ metadata, status }: GlobalPullSecret): boolean {
  return (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
}
