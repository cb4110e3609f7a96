/**
 * The policy where nobody declares one: the defaults that manifests/crds writes into a spec, within
 * the installer's limits. It is in force where the object, or its definition, does not exist.
 */
import type { GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import type { DeliveryMode } from "./delivery.ts";
import { beyondLimits } from "./limits.ts";
import type { Limits } from "./policy.ts";

/**
 * The spec's defaults, as the API server fills in `spec: {}`; a test compares them with
 * manifests/crds.
 */
export const defaults = {
  managementState: "Managed",
  conflictPolicy: "PreferAdditional",
  protectedRegistries: [],
  sources: [],
  delivery: { mode: "Restart" },
  rollout: { maxUnavailable: "10%", maxFailures: 0, probation: "5s", minInterval: "0s" },
  withdrawal: { grace: "30s", deadline: "10m", forgetAfter: "24h" },
} as const satisfies GlobalPullSecretSpec;

type Standard = GlobalPullSecretSpec & Readonly<{ delivery: Readonly<{ mode: DeliveryMode }> }>;

/**
 * The defaults, lowered to the installer's limits where they exceed them. So they are always
 * allowed.
 */
export function allowedDefaults(limits: Limits): Standard {
  const { delivery, rollout } = defaults;
  const mode = limits.deliveryModes.includes(delivery.mode)
    ? delivery.mode
    : (limits.deliveryModes[0] ?? delivery.mode);
  const many = beyondLimits(limits, { delivery: { mode }, rollout }).length > 0;
  const maxUnavailable = many ? limits.maxUnavailable : rollout.maxUnavailable;
  return { ...defaults, delivery: { mode }, rollout: { ...rollout, maxUnavailable } };
}
