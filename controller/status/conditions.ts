/** Conditions, as Kubernetes defines them. Pure. */
import type { StatusCondition } from "#api/global-pull-secret.ts";
import type { ConditionType, Reason } from "#api/reasons.ts";
import { timed, timeOf } from "#kube/conditions.ts";

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
 * The conditions with their times and the generation that they speak of, and none besides.
 */
export function dated(
  said: readonly Said[],
  before: readonly StatusCondition[],
  generation: number,
  now: Date,
): readonly StatusCondition[] {
  const cut = (message: string) =>
    message.length > longestMessage ? `${message.slice(0, longestMessage - 1)}…` : message;
  return timed(
    said.map(({ type, status, reason, message }) => {
      return { type, status, observedGeneration: generation, reason, message: cut(message) };
    }),
    before,
    timeOf(now),
  );
}
