/** The object's conditions, by name. */
import type { GlobalPullSecret, StatusCondition } from "#api/global-pull-secret.ts";
import type { ConditionType } from "#api/reasons.ts";

export function conditionOf(
  object: GlobalPullSecret,
  type: ConditionType,
): StatusCondition | undefined {
  return object.status?.conditions?.find((one) => one.type === type);
}

export function isTrue(object: GlobalPullSecret, type: ConditionType): boolean {
  return conditionOf(object, type)?.status === "True";
}

/** Whether the status speaks of the spec as it is now. */
export function isObserved({ metadata, status }: GlobalPullSecret): boolean {
  return (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
}
