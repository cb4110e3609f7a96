/** What a spec asks for beyond the installer's limits. Pure. */
import type { GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import type { Limits, NodeCount } from "./policy.ts";

type Asked = Pick<GlobalPullSecretSpec, "delivery" | "rollout">;

/** One sentence for each field that exceeds its limit; none when all is allowed. */
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
      `spec.rollout.maxUnavailable: ${maxUnavailable} is beyond the installer's ` +
        `--max-unavailable-limit; give ${limits.maxUnavailable} or less`,
    );
  return problems;
}

/**
 * True when a count exceeds its limit. A number and a percentage cannot be compared without the
 * number of nodes, which changes. So each exceeds a limit of the other kind, and a shrinking
 * cluster never makes a policy illegal.
 */
function exceeds(asked: NodeCount, limit: NodeCount): boolean {
  if (limit === "100%") return false;
  if (typeof asked !== typeof limit) return true;
  return Number.parseInt(String(asked), 10) > Number.parseInt(String(limit), 10);
}
