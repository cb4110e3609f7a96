/** Conditions, as Kubernetes defines them. Pure. */
import type { StatusCondition } from "#api/global-pull-secret.ts";
import type { ConditionType, Reason } from "#api/reasons.ts";
import { withHelp } from "#contract/help.ts";
import { timed, timeOf } from "#kube/conditions.ts";

export type Said = Readonly<{
  type: ConditionType;
  status: StatusCondition["status"];
  reason: Reason;
  message: string;
}>;

/**
 * The conditions with their times and the generation that they speak of, and none besides.
 */
export function dated(
  said: readonly Said[],
  before: readonly StatusCondition[],
  generation: number,
  now: Date,
): readonly StatusCondition[] {
  return timed(
    said.map(({ type, status, reason, message }) => {
      return { type, status, observedGeneration: generation, reason, message: withHelp(message) };
    }),
    before,
    timeOf(now),
  );
}
