/** Estimates how long a rollout will still take, from the policy and the counts in status. Pure. */
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";

/**
 * Seconds of one step of a rollout in mode Restart, without the probation. Four nodes, one after
 * the other, took 36.8 s with a probation of 5 s.
 */
export const restartSeconds = 4;

/**
 * Seconds of one step in mode Reread. A kubelet reads its file again within 300 s, and its agent
 * reports 5 s later.
 */
const rereadSeconds = 305;

/**
 * Seconds of one step in modes CredentialProvider and Runtime: the agent only writes a file that is
 * read at each pull, and reports this.
 */
const besideSeconds = 3;

/** How many nodes are asked in one second in the modes without restarts. */
const mostInOneSecond = 50;

/** The defaults of spec.rollout. */
const defaults = { maxUnavailable: "10%", probation: "5s" } as const;

/** How many nodes change at the same time. A percentage is rounded up, to at least one node. */
function atOnce(nodes: number, maxUnavailable: number | string): number {
  const text = String(maxUnavailable);
  const count = text.endsWith("%")
    ? Math.ceil((nodes * Number.parseInt(text)) / 100)
    : Number(text);
  return Math.max(1, count);
}

type Steps = Readonly<{
  maxUnavailable: number | string;
  /** How many nodes there are; a percentage is of this number. */
  nodes: number;
  /** How many nodes already have the content. */
  updated?: number;
}>;

/**
 * The number of steps of a rollout until `some` nodes have the content. One node changes first,
 * then three, then nine and so on, except with `100%`.
 */
export function stepsFor(some: number, limits: Steps): number {
  const { maxUnavailable, nodes, updated = 0 } = limits;
  const isAll = maxUnavailable === "100%";
  let steps = 0;
  for (let done = updated; done < some; steps += 1) {
    done += isAll ? some : Math.min(atOnce(nodes, maxUnavailable), 1 + 2 * done);
  }
  return steps;
}

/** Seconds of one step of mode Restart with this probation. */
export const stepSeconds = (probation: string = defaults.probation): number =>
  restartSeconds + secondsOf(probation);

/** Seconds that the nodes still need. Undefined while the status has no counts. */
export function expectedSeconds({ spec, status }: GlobalPullSecret): number | undefined {
  const { desired = 0, updated = 0 } = status?.nodes ?? {};
  if (desired === 0) return undefined;
  const mode = spec?.delivery?.mode ?? "Restart";
  const { maxUnavailable = defaults.maxUnavailable, probation } = spec?.rollout ?? {};
  const limits = { maxUnavailable, nodes: desired, updated };
  if (mode === "Restart") return stepsFor(desired, limits) * stepSeconds(probation);
  const seconds = mode === "Reread" ? rereadSeconds : besideSeconds;
  // One node goes first, then all others.
  const steps = updated === 0 && desired > 1 ? 2 : 1;
  return desired === updated ? 0 : steps * seconds + Math.floor(desired / mostInOneSecond);
}

/** The seconds of a duration: 90 for `1m30s`. */
function secondsOf(text: string): number {
  const [, hours = "0", minutes = "0", seconds = "0"] =
    /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(text) ?? [];
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
}
