/** Translates GlobalPullSecret's spec into the policy. Pure. */
import type { GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import { secondsOf, Wrong } from "#contract/values.ts";
import { repositoryOf } from "#pullsecret/registry/image.ts";
import { protectable } from "#pullsecret/merge/protect.ts";
import { allowedDefaults, beyondLimits } from "./defaults.ts";
import { deliveryOf, type Installed, type NodeCount, type Policy } from "./policy.ts";
import { budget, failures } from "./values.ts";

/**
 * `problems`: one sentence for each wrong field. Each sentence contains what to do, and no value
 * that could be secret.
 */
export type Translated =
  | Readonly<{ ok: true; policy: Policy }>
  | Readonly<{ ok: false; problems: readonly string[] }>;

/**
 * The whole policy of this spec, with defaults for missing fields. The API server refuses most
 * mistakes, but cannot check the installer's limits.
 */
export function policyOf(installed: Installed, spec: GlobalPullSecretSpec): Translated {
  return guarded(() => translated(installed, spec, beyondLimits(installed.limits, spec)));
}

/** The policy of this spec, even if the spec exceeds the installer's limits. */
export function translate(installed: Installed, spec: GlobalPullSecretSpec): Translated {
  return guarded(() => translated(installed, spec, []));
}

/**
 * With another CRD, or after an edit of the recorded spec, the spec can have any content. So we
 * never throw.
 */
function guarded(translation: () => Translated): Translated {
  try {
    return translation();
  } catch {
    const todo = "apply manifests/crds of this version, then the object again";
    return { ok: false, problems: [`spec: does not match this version's CRD; ${todo}`] };
  }
}

/** `problems`: known problems, to which this function adds one for each wrong field. */
function translated(
  installed: Installed,
  spec: GlobalPullSecretSpec,
  problems: string[],
): Translated {
  const standard = allowedDefaults(installed.limits);
  const read = <Value>(field: string, value: Value | Wrong): Value => {
    if (!(value instanceof Wrong)) return value;
    problems.push(`spec.${field}: ${value.message}`);
    // This value is never used, because after a problem there is no policy.
    return undefined as Value;
  };
  const rollout = { ...standard.rollout, ...spec.rollout };
  const withdrawal = { ...standard.withdrawal, ...spec.withdrawal };
  const verification = { ...standard.verification, ...spec.verification };
  // The API server checks the bounds of durations (manifests/chart/crds).
  const seconds = (field: string, text = "") =>
    read<number>(field, secondsOf(text) ?? new Wrong("is not a valid duration (example: 10m)"));
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
        ...registries.map((registry, at) =>
          read(`protectedRegistries[${at}]`, protectable(registry)),
        ),
      ],
    },
    rollout: {
      maxUnavailable: count("rollout.maxUnavailable", rollout.maxUnavailable, budget),
      maxFailures: count("rollout.maxFailures", rollout.maxFailures, failures),
      probationSeconds: seconds("rollout.probation", rollout.probation),
      minIntervalSeconds: seconds("rollout.minInterval", rollout.minInterval),
    },
    withdrawal: {
      onDelete: withdrawal.onDelete ?? "Withdraw",
      graceSeconds: seconds("withdrawal.grace", withdrawal.grace),
      deadlineSeconds: seconds("withdrawal.deadline", withdrawal.deadline),
      forgetAfterSeconds: seconds("withdrawal.forgetAfter", withdrawal.forgetAfter),
    },
    verification: {
      mode: verification.mode ?? "Warn",
      images: (verification.images ?? []).map((image, at) =>
        read(`verification.images[${at}]`, imageName(image)),
      ),
      intervalSeconds: seconds("verification.interval", verification.interval),
    },
    agent: { ...installed.agent, delivery: deliveryOf(spec.delivery, standard.delivery.mode) },
  };
  return problems.length > 0 ? { ok: false, problems } : { ok: true, policy };
}

function imageName(image: string): string | Wrong {
  return repositoryOf(image) === undefined
    ? new Wrong("is not an image name (example: registry.example/team/app:1)")
    : image;
}
