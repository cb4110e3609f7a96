/** What a step of a removal needs, and what it tells. */
import type { Again } from "#kube/loop.ts";
import type { Policy } from "../policy/policy.ts";
import type { RolloutContext } from "../rollout/context.ts";
import type { Progress } from "../rollout/step.ts";
import type { WithdrawalStep } from "./withdrawal.ts";

/** `until`: when we stop waiting for them, ISO 8601. */
type Awaited = Readonly<{ names: readonly string[]; until: string }>;

export type Remover = RolloutContext &
  Readonly<{
    policy: Policy;
    /** How long the removal has been in this state. */
    stillSeconds: (state: string) => number;
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
export const uneventful = {
  progress: undefined,
  releasing: false,
  released: false,
  leftBehind: [],
  overdue: undefined,
  awaited: undefined,
  abandoned: 0,
} as const;

/** What is waited for, once nothing has moved for the deadline. */
export function overdue({ policy }: Remover, still: number, waiting: readonly string[]) {
  const seconds = policy.withdrawal.deadlineSeconds;
  return still >= seconds ? { waiting, seconds } : undefined;
}
