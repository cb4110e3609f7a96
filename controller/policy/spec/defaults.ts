/**
 * The policy where nobody declares one: the defaults that manifests/crds writes into a spec, as the
 * installer's limits allow them. In force without the object, and without its definition.
 */
import type { GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import type { DeliveryMode } from "#controller/policy/delivery.ts";
import { beyondLimits } from "./limits.ts";
import type { Limits } from "#controller/policy/policy.ts";

/** As the API server fills `spec: {}`; a test holds it against manifests/crds. */
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

/** The defaults, drawn back to the limits where they are beyond them: always allowed. */
export function allowedDefaults(limits: Limits): Standard {
  const { delivery, rollout } = defaults;
  const mode = limits.deliveryModes.includes(delivery.mode)
    ? delivery.mode
    : (limits.deliveryModes[0] ?? delivery.mode);
  const many = beyondLimits(limits, { delivery: { mode }, rollout }).length > 0;
  const maxUnavailable = many ? limits.maxUnavailable : rollout.maxUnavailable;
  return { ...defaults, delivery: { mode }, rollout: { ...rollout, maxUnavailable } };
}
