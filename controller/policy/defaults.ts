/**
 * The policy in force if the object or its CRD does not exist: the defaults from
 * manifests/chart/crds, within the installer's limits. Pure.
 */
import type { GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import type { DeliveryMode } from "#contract/names.ts";
import type { Limits, NodeCount } from "./policy.ts";

/**
 * The defaults that the API server writes into `spec: {}`. A test compares them with
 * manifests/chart/crds.
 */
export const defaults = {
  managementState: "Managed",
  conflictPolicy: "PreferAdditional",
  protectedRegistries: [],
  sources: [],
  delivery: { mode: "Restart" },
  rollout: { maxUnavailable: "10%", maxFailures: 0, probation: "5s", minInterval: "0s" },
  withdrawal: { onDelete: "Withdraw", grace: "30s", deadline: "10m", forgetAfter: "24h" },
  verification: { mode: "Warn", images: [], interval: "1h" },
} as const satisfies GlobalPullSecretSpec;

type Standard = GlobalPullSecretSpec & Readonly<{ delivery: Readonly<{ mode: DeliveryMode }> }>;

/** The defaults, lowered to the installer's limits. */
export function allowedDefaults(limits: Limits): Standard {
  const { delivery, rollout } = defaults;
  const mode = limits.deliveryModes.includes(delivery.mode)
    ? delivery.mode
    : (limits.deliveryModes[0] ?? delivery.mode);
  const many = beyondLimits(limits, { delivery: { mode }, rollout }).length > 0;
  const maxUnavailable = many ? limits.maxUnavailable : rollout.maxUnavailable;
  return { ...defaults, delivery: { mode }, rollout: { ...rollout, maxUnavailable } };
}

type Asked = Pick<GlobalPullSecretSpec, "delivery" | "rollout">;

/** One sentence for each field that exceeds its limit. Empty if all are allowed. */
export function beyondLimits(limits: Limits, { delivery, rollout }: Asked): string[] {
  const problems: string[] = [];
  const modes = limits.deliveryModes;
  const { mode } = delivery ?? {};
  if (mode !== undefined && !modes.includes(mode))
    problems.push(
      `spec.delivery.mode: ${mode} is not among the installer's --delivery-modes; ` +
        `give ${modes.join(" or ")}`,
    );
  const { maxUnavailable } = rollout ?? {};
  if (maxUnavailable !== undefined && exceeds(maxUnavailable, limits.maxUnavailable))
    problems.push(
      `spec.rollout.maxUnavailable: ${maxUnavailable} exceeds the installer's ` +
        `--max-unavailable-limit; set ${limits.maxUnavailable} or less`,
    );
  return problems;
}

/**
 * True when a count exceeds its limit. To compare a number with a percentage, we would have to know
 * the number of nodes, which changes. So a number always exceeds a limit that is a percentage, and
 * a percentage always exceeds a limit that is a number. A policy then never becomes invalid because
 * the cluster shrinks.
 */
function exceeds(asked: NodeCount, limit: NodeCount): boolean {
  if (limit === "100%") return false;
  if (typeof asked !== typeof limit) return true;
  return Number.parseInt(String(asked), 10) > Number.parseInt(String(limit), 10);
}
