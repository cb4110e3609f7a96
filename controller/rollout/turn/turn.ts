/** What a rollout's decision rests on, and what it may be. Pure. */
import type { Intent } from "#contract/names.ts";
import type { Standing } from "./node-state.ts";
import type { RolloutPolicy } from "#controller/policy/policy.ts";
import type { Strategy } from "./strategy.ts";

export type DaemonSetState = Strategy &
  Readonly<{
    /** Revision in the template; 0 at birth. */
    template: number;
    /** Digest in the template, of that revision's content; empty at birth. */
    digest: string;
    /**
     * Someone else edited the spec, or we would now write another one (an upgrade of the agent).
     */
    drifted: boolean;
    /** The status was made for the present spec. */
    observed: boolean;
    /**
     * From the status: nodes that should have an agent; that have one of this template; whose agent
     * is Ready, is available.
     */
    desired: number;
    updated: number;
    ready: number;
    available: number;
  }>;

export type RolloutInput = Omit<RolloutPolicy, "minIntervalSeconds"> &
  Readonly<{
    /** Revision of global-pull-secret as it stands, and what it tells the nodes to do. */
    published: number;
    intent: Intent;
    /**
     * What is published lacks a source of what was served last; what is wanted, one of what is
     * published. Such a withdrawal is held by no halt, and by no interval.
     */
    takesBack: Readonly<{ published: boolean; wanted: boolean }>;
    /** What the nodes should be told to do. */
    wanted: Intent;
    /** What should be published differs from what is. */
    pending: boolean;
    /**
     * global-pull-secret is missing or was edited by someone else: agents find nothing that they
     * should use.
     */
    lost: boolean;
    /**
     * The template's revision was on every living node once: whatever fails later is no failure of
     * its rollout.
     */
    complete: boolean;
    daemonSet: DaemonSetState | undefined;
    /**
     * Seconds since the DaemonSet's counters last changed; since more of its pods, or others, were
     * Ready.
     */
    stallSeconds: number;
    readySeconds: number;
    /** Seconds since nodes and pods were last read. */
    surveySeconds: number;
    /** Pods have ended that nobody has looked into. */
    suspicious: boolean;
    /** A look before this one found the template's revision halted. */
    haltKnown: boolean;
    /** Seconds until the next rollout of a change may begin. */
    restSeconds: number;
    /** Seconds until what halted is tried once more. */
    retrySeconds: number;
    /** Read on request only. */
    standing: Standing | undefined;
    /** What is published costs kubelets a restart; else what follows the canary needs no budget. */
    restarts: boolean;
    /**
     * Kubelets may have to be told of a provider for what is published: the first node is available
     * when its kubelet has asked it, or after `askingSeconds`.
     */
    registers: boolean;
  }>;

/** The Secret is ahead of the template: agents that start now find no revision of theirs. */
export function isOvertaken({
  published,
  daemonSet,
}: Pick<RolloutInput, "published" | "daemonSet">): boolean {
  return daemonSet !== undefined && daemonSet.template > 0 && published > daemonSet.template;
}

/** Why a revision goes no further: nodes failed with it, or too many are out of reach to go on. */
export type HaltReason = "failed" | "outage";

export type Turn =
  /** Read nodes and pods, then decide again. */
  | Readonly<{ kind: "survey" }>
  /**
   * Publish what is pending, then give the template this revision (or the published one) and this
   * strategy. With `halt`, what is published is not what was pending but the order to keep what is
   * in force. `served`: every node that can had the template before.
   */
  | Readonly<{
      kind: "roll";
      revision: "published" | number;
      strategy: Strategy;
      reason: string;
      halt?: HaltReason;
      served?: boolean;
    }>
  /**
   * Leave the template; set the strategy if it differs. `again`: seconds. `publish`: what is
   * pending must be in the Secret even so. `halt`: to be remembered, with the nodes that failed.
   */
  | Readonly<{
      kind: "wait";
      phase: Phase;
      strategy: Strategy;
      reason: string;
      again: number;
      publish?: boolean;
      halt?: HaltReason;
      served?: boolean;
    }>
  /** `again`: seconds until those are looked after that lack it. */
  | Readonly<{ kind: "served"; strategy: Strategy; reason: string; again: number | undefined }>;

export type Phase =
  | "birth"
  | "canary"
  | "wave"
  /** Nodes have failed; what was published stays in the template. */
  | "halted"
  /** The nodes were told to keep what they have, until what halted is tried once more. */
  | "held"
  /** Too many nodes are out of reach: nothing rolls until they are back. */
  | "outage"
  /** The next change may not begin yet (`minInterval`). */
  | "interval";
