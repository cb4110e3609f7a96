/**
 * Removal: first every node gives back our entries, then the objects go, the Secrets last, because
 * they are our notes. Pure and derived from what exists, so that a controller that was killed goes
 * on where the last one stopped.
 */
import type { Again } from "#kube/loop.ts";
import type { Policy } from "../policy/policy.ts";
import type { RolloutContext } from "../rollout/write.ts";
import type { Progress } from "../rollout/step.ts";

export type WithdrawalInput = Readonly<{
  /** Something may have reached a node. */
  rolled: boolean;
  /** Every living node has the published revision, or somebody told us to assume so. */
  released: boolean;
  exists: Readonly<
    Record<"daemonSet" | "roleBinding" | "role" | "serviceAccount" | "global" | "state", boolean>
  >;
  /** The DaemonSet is being deleted already. */
  terminating: boolean;
  /** Agents' pods on living nodes; undefined: not counted. */
  agents: number | undefined;
}>;

export type WithdrawalStep =
  /** Bring the revision without additional entries to every node. */
  | "release"
  | "delete daemonSet"
  | "await daemonSet"
  | "count agents"
  | "await agents"
  | "delete roleBinding"
  | "delete role"
  | "delete serviceAccount"
  | "delete global"
  | "delete state"
  | "done";

export function nextWithdrawalStep({
  rolled,
  released,
  exists,
  terminating,
  agents,
}: WithdrawalInput): WithdrawalStep {
  if (rolled && !released) return "release";
  if (exists.daemonSet) return terminating ? "await daemonSet" : "delete daemonSet";
  if (exists.global && agents === undefined) return "count agents";
  if (exists.global && (agents ?? 0) > 0) return "await agents";
  if (exists.roleBinding) return "delete roleBinding";
  if (exists.role) return "delete role";
  if (exists.serviceAccount) return "delete serviceAccount";
  if (exists.global) return "delete global";
  return exists.state ? "delete state" : "done";
}

/** Seconds until the next look at what stands still: 1 at first, 30 at most. */
export const pauseAfter = (unchangedSeconds: number): number =>
  Math.min(30, Math.max(1, Math.round(unchangedSeconds / 4)));

/** `until`: when we stop waiting for them, ISO 8601. */
type Awaited = Readonly<{ names: readonly string[]; until: string }>;

export type RemovalContext = RolloutContext &
  Readonly<{
    policy: Policy;
    /** How long the removal has been in this state. */
    unchangedSeconds: (state: string) => number;
  }>;

export type Removal = Readonly<{
  step: WithdrawalStep;
  revision: number;
  /** Until every node has given back our entries. */
  progress: Progress | undefined;
  /**
   * The revision is the one that takes the entries back; before that, the one that was on its way
   * when removal began.
   */
  releasing: boolean;
  /** Every node that we wait for has given back. */
  released: boolean;
  /** Names of the nodes that we stopped waiting for; they may keep our entries. */
  leftBehind: readonly string[];
  /** Names of what we wait for, once nothing has moved for `seconds`. */
  overdue: Readonly<{ waiting: readonly string[]; seconds: number }> | undefined;
  /** Nodes that are away, while we wait for them. */
  awaited: Awaited | undefined;
  /** Agents' pods that we stopped waiting for. */
  abandoned: number;
  /** undefined: as for a rollout. */
  again: Again | undefined;
}>;

/** Of a step in which nothing of this happens. */
export const nothingHappened = {
  progress: undefined,
  releasing: false,
  released: false,
  leftBehind: [],
  overdue: undefined,
  awaited: undefined,
  abandoned: 0,
} as const;

/** What is waited for, once nothing has moved for the deadline. */
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
