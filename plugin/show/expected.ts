/** Estimates how long a rollout will still take, from the policy and the counts in status. Pure. */
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";

/**
 * Seconds of one step of a rollout in mode Restart, without the probation. Four nodes, one after
 * the other, took 36.8 s with a probation of 5 s.
 */
export const restartSeconds = 4;

/**
 * Seconds of one step in mode Reread. A kubelet reads its file again within 300 s, and its agent
 * turns Ready 5 s later.
 */
const rereadSeconds = 305;

/**
 * Seconds of one step in mode CredentialProvider: the agent only writes the provider's answer to a
 * file, and reports this.
 */
const providerSeconds = 3;

/** The defaults of spec.rollout. */
const defaults = { maxUnavailable: "10%", probation: "5s" } as const;

/** How many nodes change at the same time. A percentage is rounded up, to at least one node. */
function atOnce(nodes: number, maxUnavailable: number | string): number {
  const text = String(maxUnavailable);
  const count = text.endsWith("%")
    ? Math.ceil((nodes * Number.parseInt(text)) / 100)
    : Number(text);
  return Math.max(1, count || 1);
}

/**
 * The number of steps of a rollout that changes `some` of `nodes` nodes. The first node changes
 * alone, except with `100%`.
 */
export function stepsFor(some: number, maxUnavailable: number | string, nodes = some): number {
  if (some <= 0) return 0;
  const each = atOnce(nodes, maxUnavailable);
  return maxUnavailable === "100%" ? 1 : 1 + Math.ceil((some - 1) / each);
}

/** Seconds of one step of mode Restart with this probation. */
export const stepSeconds = (probation: string = defaults.probation): number =>
  restartSeconds + secondsOf(probation);

/** Seconds that the nodes still need. Undefined while the status has no counts. */
export function expectedSeconds({ spec, status }: GlobalPullSecret): number | undefined {
  const { desired = 0, updated = 0 } = status?.nodes ?? {};
  if (desired === 0) return undefined;
  const remaining = desired - updated;
  const mode = spec?.delivery?.mode ?? "Restart";
  const { maxUnavailable = defaults.maxUnavailable, probation } = spec?.rollout ?? {};
  if (remaining <= 0) return 0;
  // Without restarts, all other nodes change at the same time, after the first node.
  if (mode !== "Restart")
    return (updated === 0 ? 2 : 1) * (mode === "Reread" ? rereadSeconds : providerSeconds);
  const steps =
    updated === 0
      ? stepsFor(desired, maxUnavailable)
      : Math.ceil(remaining / atOnce(desired, maxUnavailable));
  return steps * stepSeconds(probation);
}

/** The seconds of a duration: 90 for `1m30s`. */
function secondsOf(text: string): number {
  const [, hours = "0", minutes = "0", seconds = "0"] =
    /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(text) ?? [];
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
}
