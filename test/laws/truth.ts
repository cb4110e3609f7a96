/**
 * What really happened in a run, as the laws need it. The product sees none of this, and no rule of
 * the product is repeated here: only the limits that the laws promise.
 */
import { nothing, only, type Content, type Machine, type Secret, type World } from "./world.ts";

export type Law =
  /** Good content never halts. */
  | "halt"
  /** Every rollout and withdrawal ends, within a bounded time after the world calms down. */
  | "end"
  /** No node waits while nobody is at work. */
  | "delay"
  /** Newer content is published at once. */
  | "publication"
  /** Content that breaks kubelets reaches few nodes. */
  | "break"
  /** A joining node gets no unproved content, and no removed registry. */
  | "join"
  /** A removal is published at once, and leaves the node of every running agent within seconds. */
  | "removal"
  /** Few kubelets are down at once, and one of a control-plane node. */
  | "window"
  /** No node is asked for content that is older than the content it was asked for. */
  | "back"
  /** A revision restarts a node's kubelet once, and after a retry once more. */
  | "restart"
  /** Status claims nothing that is not so. */
  | "status"
  /** A source that changes too often causes six publications, and then one in ten minutes. */
  | "budget"
  /** An agent image that dies after ten seconds replaces one agent. */
  | "upgrade"
  /** Nothing is asked while the rollout is paused, or without the admission policy. */
  | "held";

export class LawBroken extends Error {
  readonly law: Law;

  constructor(law: Law, message: string) {
    super(`${law}: ${message}`);
    this.law = law;
  }
}

export function fail(law: Law, message: string): never {
  throw new LawBroken(law, message);
}

/**
 * Seconds that the controller, an agent or a watch may need until it has seen and done something.
 */
export const reactionSeconds = 15;

/** The last order of a Node. */
export type Asked = {
  revision: number;
  attempt: number;
  at: number;
  usualSeconds: number;
  /** When the first report that answers this order was stored. */
  answeredAt: number | undefined;
  /** When the Node was deleted. */
  goneAt: number | undefined;
};

/** One revision. */
export type History = Readonly<{
  content: Content;
  /** Nodes that proved it, also those that are gone. */
  proved: Set<number>;
  /** Nodes whose kubelet an order of this revision has broken. */
  broken: Set<number>;
  /** Nodes that reported a failure. */
  failed: Set<number>;
  /** The requests for a retry, and the jumps of the clock, before its publication. */
  retries: number;
  jumps: number;
}>;

export type Truth = {
  histories: Map<number, History>;
  /** By the Node's uid. */
  asked: Map<number, Asked>;
  provedContents: Set<Content>;
  /** Since when the newest content has no entry for registry a and b. */
  removedSince: [number | undefined, number | undefined];
  /** When anything was published, and when new content was published that removes nothing. */
  publishedAt: number[];
  publications: number[];
  /**
   * Nodes that were asked and whose objects vanished before a controller could see that the Node
   * was gone, or because a person deleted the object.
   */
  vanished: number;
  /** Nodes whose object a person deleted. */
  dismissed: Set<number>;
  jumps: number;
  jumpedAt: number;
  /** The sum of all jumps, in seconds. */
  jumped: number;
  /** When the clock was set back, and by how much. */
  setBacks: { at: number; seconds: number }[];
  clock: number;
  /** The DaemonSet's template at the last jump. */
  templateAtJump: number;
  /**
   * A new installation began with a lower revision, because the clock was set back since the former
   * one. Agents ignore it until the clock has passed the former revision.
   */
  isBehind: boolean;
  /** The widest window of this run. */
  widest: number;
  isReady: boolean;
  haltedBy: "failed" | "lost" | undefined;
  current: number;
  /** How often the controller has reported a halt that was not there before. */
  halts: number;
};

export function newTruth(world: World): Truth {
  return {
    histories: new Map(),
    asked: new Map(),
    provedContents: new Set(),
    removedSince: [undefined, undefined],
    publishedAt: [],
    publications: [],
    vanished: 0,
    dismissed: new Set(),
    jumps: 0,
    jumpedAt: -1,
    jumped: 0,
    setBacks: [],
    clock: 0,
    templateAtJump: 0,
    isBehind: false,
    widest: widthOf(world),
    isReady: false,
    haltedBy: undefined,
    current: 0,
    halts: 0,
  };
}

/** Notices a jump of the API server's clock. */
export function noteClock(world: World, truth: Truth): void {
  const { clock } = world;
  if (clock === truth.clock) return;
  truth.jumped += Math.abs(clock - truth.clock);
  if (clock < truth.clock) truth.setBacks.push({ at: world.t, seconds: truth.clock - clock });
  truth.clock = clock;
  noteJump(world, truth);
}

/** Notices a jump of the clock, or a restore of etcd, which brings back objects with old times. */
export function noteJump({ t, daemonSets }: World, truth: Truth): void {
  truth.jumps += 1;
  truth.jumpedAt = t;
  truth.templateAtJump = daemonSets.get(only)?.template.id ?? 0;
}

/** The policy's number of places. */
export function widthOf({ policy }: World): number {
  return policy.maxUnavailable === "all" ? Infinity : policy.maxUnavailable;
}

/** The places of a window that widens with the number of nodes that have proved the revision. */
export const placesOf = (truth: Truth, proved: number): number =>
  Math.min(truth.widest, 1 + 2 * proved);

/** How many silent nodes do not halt a rollout yet. */
export const guardOf = (proved: number): number => (proved === 0 ? 1 : 2 + Math.floor(proved / 10));

/** A node's usual time from the order to the report. */
export function usualTime({ policy }: World): number {
  return 60 + Math.max(305, 3 * (30 + policy.probation + 60));
}

/** The Nodes that did not answer an order of this revision in time, or have just answered it. */
export function lostOf(world: World, truth: Truth, revision: number): number[] {
  const { t } = world;
  const isLost = (asked: Asked) => {
    if (asked.revision !== revision) return false;
    if (asked.answeredAt !== undefined && t - asked.answeredAt > reactionSeconds) return false;
    if (asked.goneAt !== undefined) return true;
    return (asked.answeredAt ?? t) - asked.at >= asked.usualSeconds;
  };
  return [...truth.asked].filter(([, asked]) => isLost(asked)).map(([uid]) => uid);
}

/**
 * How many nodes a revision may break. If it breaks every kubelet: one more than `maxFailures` if
 * agents can report it, and one more if a node was silent; two if no agent can report it. If it
 * breaks some: also the nodes that were at work when the halt began, and the guard of silent nodes.
 * A retry begins again. After a jump of the clock, the nodes at work count as silent. If a node has
 * proved it in the mode Reread, which restarts nothing, the limit is the same as if it breaks some.
 */
export function limitOf(world: World, truth: Truth, revision: number, history: History): number {
  const { content, proved, retries, jumps } = history;
  const breakage = world.bad.get(Number(content.split("-")[0]));
  if (breakage === undefined) return 0;
  const places = placesOf(truth, proved.size);
  const times = 1 + world.retries - retries;
  const extra = (truth.jumps - jumps) * places + truth.vanished;
  const { maxFailures } = world.policy;
  if (breakage.percent < 100 || proved.size > 0)
    return times * (maxFailures + 1 + guardOf(proved.size) + places) + extra;
  if (breakage.isSilent) return times * 2 + extra;
  const silent = Math.min(1, lostOf(world, truth, revision).length);
  return times * (maxFailures + 1 + silent) + extra;
}

/**
 * The machine has proved the newest content, and has it in its file. If another program overwrites
 * the file, only an agent that runs can notice it.
 */
export function hasNewest({ t }: World, machine: Machine, { content, revision }: Secret): boolean {
  const { journal, file } = machine.disk;
  const isProved =
    content === nothing
      ? (journal?.content ?? nothing) === nothing
      : journal?.revision === revision && journal.change === undefined;
  const isBlind = machine.isDead || !machine.isRunning || machine.frozenUntil > t;
  return isProved && (isBlind || file === content);
}
