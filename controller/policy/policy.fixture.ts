/** For tests: a policy with the defaults of the flags, and what a test decides otherwise. */
import { parseConfig } from "./config.ts";
import type { Policy, RolloutPolicy, WithdrawalPolicy } from "./policy.ts";

const parsed = parseConfig([]);
if (!parsed.ok) throw new Error(parsed.errors.join());
const { policy } = parsed.value;

export function policyWith(
  rollout: Partial<RolloutPolicy> = {},
  withdrawal: Partial<WithdrawalPolicy> = {},
): Policy {
  return {
    ...policy,
    rollout: { ...policy.rollout, ...rollout },
    withdrawal: { ...policy.withdrawal, ...withdrawal },
  };
}
