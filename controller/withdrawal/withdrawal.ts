/**
 * The steps of a removal. First every node removes our entries. Then the objects are deleted, the
 * Secrets last, because they record how far the removal is. Pure, and derived from what exists, so
 * a new controller continues where the last controller stopped.
 */
import type { Again } from "#runtime/loop.ts";
import type { Policy } from "../policy/policy.ts";
import type { RolloutContext } from "../rollout/write.ts";
import type { Progress } from "../rollout/step.ts";

/** In the order in which they are deleted, after the DaemonSet. */
const deletedInOrder = [
  "roleBinding",
  "role",
  "serviceAccount",
  /** NodePullSecrets, other than those of nodes that are left behind. */
  "nodePullSecrets",
  "global",
  "state",
] as const;

export type DeletedName = "daemonSet" | (typeof deletedInOrder)[number];

export type WithdrawalInput = Readonly<{
  /** Content might have reached nodes, and the controller still waits for their confirmation. */
  needsRelease: boolean;
  exists: ReadonlySet<DeletedName>;
  terminating: boolean;
  /** Agents' pods on reachable nodes. */
  agents: number;
}>;

/** `release` brings the revision without our entries to every node. */
export type WithdrawalStep =
  | "release"
  | "await daemonSet"
  | "await agents"
  | `delete ${DeletedName}`
  | "done";

export function nextWithdrawalStep({
  needsRelease,
  exists,
  terminating,
  agents,
}: WithdrawalInput): WithdrawalStep {
  if (needsRelease) return "release";
  if (exists.has("daemonSet")) return terminating ? "await daemonSet" : "delete daemonSet";
  if (exists.has("global") && agents > 0) return "await agents";
  const next = deletedInOrder.find((name) => exists.has(name));
  return next === undefined ? "done" : `delete ${next}`;
}

/** Seconds until the next check of a removal that makes no progress: 1 at first, at most 30. */
export const pauseAfter = (unchangedSeconds: number): number =>
  Math.min(30, Math.max(1, Math.round(unchangedSeconds / 4)));

/** `until`: when the controller stops waiting for these nodes, as ISO 8601. */
type Awaited = Readonly<{ names: readonly string[]; until: string }>;

export type RemovalContext = RolloutContext &
  Readonly<{
    policy: Policy;
    /**
     * How many seconds the removal has been in this state. A restart of the controller resets this
     * time, which only causes a delay.
     */
    unchangedSeconds: (state: string) => number;
  }>;

export type Removal = Readonly<{
  step: WithdrawalStep;
  revision: number;
  /** Set until every node has confirmed the release. */
  progress: Progress | undefined;
  /**
   * True: this revision removes our entries. False: an earlier revision that was being rolled out
   * when the removal began.
   */
  releasing: boolean;
  /** Every node for which the removal waits has confirmed the release. */
  released: boolean;
  /**
   * Names of nodes that the controller stopped waiting for. These nodes might still have our
   * entries.
   */
  leftBehind: readonly string[];
  /**
   * Names of the nodes or objects for which the removal waits, after `seconds` without progress.
   */
  overdue: Readonly<{ waiting: readonly string[]; seconds: number }> | undefined;
  /** Absent nodes for which the removal waits. */
  awaited: Awaited | undefined;
  /** Agents' pods that the controller stopped waiting for. */
  abandoned: number;
  /** When to run again. Undefined: at the same time as in a rollout. */
  again: Again | undefined;
}>;

export const nothingHappened = {
  progress: undefined,
  releasing: false,
  released: false,
  leftBehind: [],
  overdue: undefined,
  awaited: undefined,
  abandoned: 0,
} as const;

/** The nodes or objects that the removal waits for, once it has made no progress for `deadline`. */
export function overdue({ policy }: RemovalContext, unchanged: number, waiting: readonly string[]) {
  const seconds = policy.withdrawal.deadlineSeconds;
  return unchanged >= seconds ? { waiting, seconds } : undefined;
}

export function unchangedClock(seconds: () => number): (key: string) => number {
  let seen: string | undefined;
  let since = 0;
  return (key) => {
    if (key !== seen) [seen, since] = [key, seconds()];
    return seconds() - since;
  };
}
