/** Conditions, as Kubernetes defines them. Pure. */
import type { StatusCondition } from "#api/global-pull-secret.ts";
import type { ConditionType, Reason } from "#api/reasons.ts";

export type Said = Readonly<{
  type: ConditionType;
  status: StatusCondition["status"];
  reason: Reason;
  message: string;
}>;

/**
 * Most characters of a message: enough for five troubles of an Event's length, and far under the 32
 * KiB that a condition may hold.
 */
const longestMessage = 4096;

/**
 * The conditions with their times, and no conditions besides. A condition's time is when its status
 * changed, whatever its message.
 */
export function dated(
  said: readonly Said[],
  before: readonly StatusCondition[],
  generation: number,
  now: Date,
): StatusCondition[] {
  return said.map(({ type, status, reason, message }) => {
    const last = before.find((one) => one.type === type);
    const lastTransitionTime = last?.status === status ? last.lastTransitionTime : timeOf(now);
    const cut =
      message.length > longestMessage ? `${message.slice(0, longestMessage - 1)}…` : message;
    return {
      type,
      status,
      observedGeneration: generation,
      lastTransitionTime,
      reason,
      message: cut,
    };
  });
}

/** RFC 3339 in whole seconds, as Kubernetes writes times. */
export const timeOf = (date: Date): string => date.toISOString().replace(/\.\d+Z$/, "Z");
