/** For tests: the policy without an object, with these changes. */
import { parseConfig } from "./config.ts";
import { inForce } from "./policy-in-force.ts";
import type { Policy, WithdrawalPolicy } from "./policy.ts";

const parsed = parseConfig([]);
if (!parsed.ok) throw new Error(parsed.errors.join());
const { installed } = parsed.value;
const { policy } = inForce(installed, undefined, undefined);

export function policyWith(
  rollout: Partial<Policy["rollout"]> = {},
  withdrawal: Partial<WithdrawalPolicy> = {},
): Policy {
  return {
    ...policy,
    rollout: { ...policy.rollout, ...rollout },
    withdrawal: { ...policy.withdrawal, ...withdrawal },
  };
}
