/**
 * The steps of a removal. First every node removes our entries. Then the objects are deleted, the
 * Secrets last, because they record how far the removal is. Pure, and derived from what exists, so
 * a new controller continues where the last controller stopped.
 */
import type { Again } from "#runtime/loop.ts";
import type { Policy } from "../policy/policy.ts";
import type { RolloutContext } from "../rollout/write.ts";
import type { Progress } from "../rollout/step.ts";

export type WithdrawalInput = Readonly<{
  /** Content might have reached nodes, and the controller still waits for their confirmation. */
  needsRelease: boolean;
  exists: Readonly<
    Record<
      | "daemonSet"
      | "roleBinding"
      | "role"
      | "serviceAccount"
      /** NodePullSecrets, other than those of nodes that are left behind. */
      | "nodePullSecrets"
      | "global"
      | "state",
      boolean
    >
  >;
  terminating: boolean;
  /** Agents' pods on reachable nodes. */
  agents: number;
}>;

export type WithdrawalStep =
  /** Brings the revision without our entries to every node. */
  | "release"
  | "delete daemonSet"
  | "await daemonSet"
  | "await agents"
  | "delete roleBinding"
  | "delete role"
  | "delete serviceAccount"
  | "delete nodePullSecrets"
  | "delete global"
  | "delete state"
  | "done";

export function nextWithdrawalStep({
  needsRelease,
  exists,
  terminating,
  agents,
}: WithdrawalInput): WithdrawalStep {
  if (needsRelease) return "release";
  if (exists.daemonSet) return terminating ? "await daemonSet" : "delete daemonSet";
  if (exists.global && agents > 0) return "await agents";
  if (exists.roleBinding) return "delete roleBinding";
  if (exists.role) return "delete role";
  if (exists.serviceAccount) return "delete serviceAccount";
  if (exists.nodePullSecrets) return "delete nodePullSecrets";
  if (exists.global) return "delete global";
  return exists.state ? "delete state" : "done";
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
