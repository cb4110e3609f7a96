/** The input of a rollout's decision, and its possible answers. Pure. */
import type { Intent } from "#contract/names.ts";
import type { FateCounts } from "./node-state.ts";
import type { RolloutPolicy } from "#controller/policy/policy.ts";
import type { Strategy } from "./strategy.ts";

export type DaemonSetState = Strategy &
  Readonly<{
    /** Revision in the template; 0 at birth. */
    template: number;
    /** Digest in the template, of that revision's content; empty at birth. */
    digest: string;
    /**
     * Somebody else edited the spec, or we would write a different one now (an upgrade of the
     * agent).
     */
    drifted: boolean;
    /** The status describes the present spec. */
    observed: boolean;
    /**
     * Counters of the status: nodes that should run an agent, and those whose agent is of this
     * template, is Ready, is available.
     */
    desired: number;
    updated: number;
    ready: number;
    available: number;
  }>;

export type RolloutInput = RolloutPolicy &
  Readonly<{
    /** Revision that global-pull-secret holds, and the intent that it tells the nodes. */
    published: number;
    intent: Intent;
    /**
     * A whole source is withdrawn. `published`: what is published lacks a source of what was served
     * last. `wanted`: what is wanted lacks a source of what is published. Such a withdrawal waits
     * for no halt and no interval.
     */
    takesBack: Readonly<{ published: boolean; wanted: boolean }>;
    /** The intent that the nodes should be told. */
    wanted: Intent;
    /** What should be published differs from what is. */
    pending: boolean;
    /**
     * global-pull-secret is missing, or somebody else edited it, so agents find nothing that they
     * should use.
     */
    lost: boolean;
    /**
     * Every living node has had the template's revision. A node that fails later does not count
     * against its rollout.
     */
    complete: boolean;
    daemonSet: DaemonSetState | undefined;
    /**
     * Seconds since the DaemonSet's counters last changed, and since the number of Ready pods grew
     * or the template changed.
     */
    stallSeconds: number;
    readySeconds: number;
    /** Seconds since nodes and pods were last read. */
    surveySeconds: number;
    /**
     * Seconds since an outage of nodes, or one of the API server in which nodes may be missed; 0
     * during one, infinite where none was seen.
     */
    calmSeconds: number;
    /** Agents have ended that no survey has looked into. */
    suspicious: boolean;
    /** An earlier step found the template's revision halted, or its nodes in trouble. */
    haltKnown: boolean;
    /** Seconds until the next change may begin to roll out (`minInterval`). */
    intervalLeft: number;
    /** Seconds until the halted content is tried again. */
    retrySeconds: number;
    /** Nodes counted by fate; undefined until a decision asks for a survey. */
    counts: FateCounts | undefined;
    /**
     * The published revision restarts kubelets. If it does not, the nodes after the canary need no
     * budget.
     */
    restarts: boolean;
    /**
     * For what is published, kubelets may have to be told of a provider. The first node is then
     * available once its kubelet has asked it, or after `askingSeconds`.
     */
    registers: boolean;
  }>;

/** How many agents have proved the template. At birth agents are Ready, never available (0023). */
export const provedBy = ({ template, ready, available }: DaemonSetState) =>
  template === 0 ? ready : available;

/**
 * True when the Secret is ahead of the template: an agent that starts now finds no revision of its
 * own.
 */
export function isOvertaken({
  published,
  daemonSet,
}: Pick<RolloutInput, "published" | "daemonSet">): boolean {
  return daemonSet !== undefined && daemonSet.template > 0 && published > daemonSet.template;
}

/** Why a revision goes no further: nodes failed with it, or too many are unreachable to go on. */
export type HaltReason = "failed" | "outage";

export type Turn =
  /** Read nodes and pods, then decide again. */
  | Readonly<{ kind: "survey" }>
  /**
   * Publish what is pending, then write this revision (`published`: the Secret's) and this strategy
   * into the template. `halt`: what is published is not what was pending but the order to keep what
   * is in force. `served`: every node that can be served had the template before.
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
   * Leave the template, but set the strategy if it differs. `again`: seconds until the next step.
   * `publish`: write what is pending into the Secret all the same. `halt`: remember the halt, with
   * the nodes that failed.
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
  /**
   * Every node that can be served has it. `again`: seconds until the nodes that lack it are looked
   * at.
   */
  | Readonly<{ kind: "served"; strategy: Strategy; reason: string; again: number | undefined }>;

export type Phase =
  | "birth"
  | "canary"
  | "wave"
  /** Nodes failed; the published revision stays in the template. */
  | "halted"
  /** Nodes are told to keep what they have, until the halted content is tried again. */
  | "held"
  /** Too many nodes are unreachable; nothing rolls until they return. */
  | "outage"
  /** The next change may not begin yet: `minInterval`, or an outage a moment ago. */
  | "interval";
