/** From GlobalPullSecret's spec to the policy that decisions take. Pure. */
import type { GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import { Wrong } from "#contract/values.ts";
import { protectable } from "#pullsecret/merge/protect.ts";
import { allowedDefaults } from "./defaults.ts";
import { deliveryOf } from "./delivery.ts";
import { secondsOf } from "./durations.ts";
import { beyondLimits } from "./limits.ts";
import type { Installed, NodeCount, Policy } from "./policy.ts";
import { budget, failures } from "./values.ts";

/**
 * `problems`: a sentence each, with the field and what to do, and no value that could be a secret.
 */
export type Translated =
  | Readonly<{ ok: true; policy: Policy }>
  | Readonly<{ ok: false; problems: readonly string[] }>;

/**
 * The whole policy that this spec asks for, with defaults for what it leaves out. The API server
 * refuses most mistakes, but not what only the installer forbids. Under a definition other than
 * ours, or edited where we remember it, the spec may be anything, so this never throws.
 */
export function policyOf(installed: Installed, spec: GlobalPullSecretSpec): Translated {
  try {
    return translated(installed, spec);
  } catch {
    const todo = "apply manifests/crds of this version, and the object again";
    return { ok: false, problems: [`spec: is not as this version defines it; ${todo}`] };
  }
}

function translated(installed: Installed, spec: GlobalPullSecretSpec): Translated {
  const standard = allowedDefaults(installed.limits);
  const problems = beyondLimits(installed.limits, spec);
  const read = <Value>(field: string, value: Value | Wrong): Value => {
    if (!(value instanceof Wrong)) return value;
    problems.push(`spec.${field}: ${value.message}`);
    // Never used: with a problem there is no policy.
    return undefined as Value;
  };
  const rollout = { ...standard.rollout, ...spec.rollout };
  const withdrawal = { ...standard.withdrawal, ...spec.withdrawal };
  const seconds = (field: string, text = "") => read<number>(field, secondsOf(text));
  const count = (field: string, value: NodeCount = "", reader: typeof budget) =>
    read<NodeCount>(field, reader(String(value)));
  const registries = spec.protectedRegistries ?? [];
  const policy: Policy = {
    managementState: spec.managementState ?? "Managed",
    sources: (spec.sources ?? []).map(({ name, secretRef, priority = 0 }) => ({
      name,
      secretName: secretRef.name,
      priority,
    })),
    merge: {
      conflicts: spec.conflictPolicy === "PreferOriginal" ? "original" : "additional",
      protect: [
        ...installed.protect,
        ...registries.map((one, at) => read(`protectedRegistries[${at}]`, protectable(one))),
      ],
    },
    rollout: {
      maxUnavailable: count("rollout.maxUnavailable", rollout.maxUnavailable, budget),
      maxFailures: count("rollout.maxFailures", rollout.maxFailures, failures),
      probationSeconds: seconds("rollout.probation", rollout.probation),
      minIntervalSeconds: seconds("rollout.minInterval", rollout.minInterval),
    },
    withdrawal: {
      graceSeconds: seconds("withdrawal.grace", withdrawal.grace),
      deadlineSeconds: seconds("withdrawal.deadline", withdrawal.deadline),
      forgetAfterSeconds: seconds("withdrawal.forgetAfter", withdrawal.forgetAfter),
    },
    agent: { ...installed.agent, delivery: deliveryOf(spec.delivery, standard.delivery.mode) },
  };
  return problems.length > 0 ? { ok: false, problems } : { ok: true, policy };
}
