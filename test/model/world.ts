/**
 * The world of an executable model of "pods stay": the API server's objects, the machines, and what
 * really happened. One tick is one second. Every random choice comes from the run's seed.
 */
import type { PublishedMode } from "#contract/names.ts";
import { Random } from "#test/random.ts";
import { noMemory, type Memory } from "#controller/rollout/facts.ts";

export type Mode = PublishedMode;

/**
 * In "a.b", a is the value of the first source, and b that of the second. 0 means that the source
 * does not exist.
 */
export type Digest = string;
export const RELEASE: Digest = "0.0";
/** The digest of a grant that a person writes by hand. No content has this digest. */
export const PLANTED: Digest = "planted";

export type Secret = {
  rev: number;
  digest: Digest;
  mode: Mode;
  served: number;
  servedDigest: Digest;
  at: number;
};

/**
 * Revision 0 revokes a grant. `digest` is then the revision from which the node is excused, or "".
 */
export type Grant = { rev: number; digest: Digest; since: number; word: boolean };

export type Message = {
  kind: "proved" | "failed" | "unfit" | "behind" | "crash";
  key: string;
  rev: number;
  journal: number;
};

export type Pod = {
  uid: number;
  node: string;
  created: number;
  template: number;
  grant: Grant | null;
  sync: number;
  ready: boolean;
  since: number;
  unreachable: number;
  message: Message | null;
  lastExit: number;
  rv: number;
};

type Node = { name: string; uid: number; created: number };

/** `starts`: false if the image cannot start. */
export type Template = { n: number; mode: Mode; starts: boolean };

/**
 * The state that the controller stores. All fields except `replaced` and `retry` belong to one
 * revision.
 */
export type State = {
  rev: number;
  word: boolean;
  base: number;
  awaited: number;
  canary: string;
  canaryNode: string;
  halted: boolean;
  failed: string[];
  lost: string[];
  retry: number;
  replaced: string[];
};

export type Api = {
  a: number;
  b: number;
  /** A number of nodes; 100 or more means all nodes. */
  budget: number;
  maxFailures: number;
  minInterval: number;
  paused: boolean;
  retry: number;
  want: Template;
  secret: Secret | null;
  state: State;
  ds: { template: Template } | null;
  pods: Map<string, Pod>;
  nodes: Map<string, Node>;
};

export type Begun = {
  rev: number;
  digest: Digest;
  since: number;
  placed: number;
  attempt: number;
  old: Digest;
  oldMode: Mode;
  granted: boolean;
  restarted: boolean;
};

export type Journal = {
  rev: number;
  digest: Digest;
  mode: Mode;
  begun: Begun | null;
  said: string;
  quarantine: string;
};

export type Machine = {
  name: string;
  id: number;
  net: number;
  power: number;
  dead: boolean;
  silent: number;
  /** The difference between the machine's clock and the API server's clock, in seconds. */
  skew: number;
  kubelet: boolean;
  kubeletStart: number;
  kubeletBack: number;
  loaded: Digest;
  file: Digest;
  fileMode: Mode;
  journal: Journal | null;
  podUid: number;
  template: number;
  running: boolean;
  startAt: number;
  startedAt: number;
  exits: number;
  mount: { secret: Secret; grant: Grant | null } | null;
  mountAt: number;
  patchSeen: string;
  seen: string;
  answered: boolean;
  ready: boolean;
  since: number;
  /** When `ready` last changed, in seconds of the world. `since` is in seconds of the machine. */
  readyAt: number;
  message: Message | null;
  lastExit: number;
  blind: number;
  slow: number;
  unfit: number;
  /** The container of the machine's agent cannot start, or the machine gets no pod at all. */
  unstartable: "" | "image" | "podless";
  /** Seconds until a new pod's agent starts, in addition to the usual 1 to 4. */
  startDelay: number;
  restarts: string[];
  wait: number;
  /** The time at which the agent retries served content that has failed. */
  retryAt: number;
  goneAt: number;
};

/** What really happened in the world. Only the laws read this. */
type Truth = {
  proved: Set<string>;
  broken: Map<Digest, Set<number>>;
  limit: Map<Digest, number>;
  published: Map<Digest, number>;
  revisions: number;
  allowed: number;
  lastKill: number;
  withdrawn: Map<string, number>;
  want: Digest;
  lostAgents: Set<string>;
  upgradeBudget: number;
  retries: number;
  hand: number;
  forgotten: Set<number>;
  wrong: Set<number>;
  /** Uid of a pod → when the controller last wrote its grant. */
  grantedAt: Map<number, number>;
  /** `ID REVISION/DIGEST` of each machine and the contents that it has had in force. */
  fulfilled: Set<string>;
  /** Uid of a pod → when it first showed that its present grant is fulfilled. */
  shownAt: Map<number, number>;
  /** Revision → when a first machine had it in force. */
  firstAt: Map<number, number>;
  /** Machine → its last failure, and the retries at that time. */
  failed: Map<number, { rev: number; at: number; retries: number }>;
  slips: number;
  forced: number;
  /** Nodes that were deleted before their failure was known. */
  vanished: number;
  /** When the budget last changed, and the budget before that. */
  lowered: { t: number; budget: number };
  /** The seconds for which the controller could have published a withdrawal. */
  owed: number;
};

export type World = {
  t: number;
  random: Random;
  api: Api;
  /**
   * The Secret before the last write. A kubelet can still mount this Secret, because its watches of
   * pods and of Secrets are independent.
   */
  old: Secret | null;
  machines: Map<string, Machine>;
  ids: number;
  values: number;
  bad: Map<number, { silent: boolean; percent: number }>;
  templates: Map<number, Template>;
  deadUntil: number;
  killIn: number;
  busyUntil: number;
  admissionUntil: number;
  /** Until this time the controller's watch of pods shows no changes. */
  lateUntil: number;
  /** How far the controller's own clock is ahead of `t`; another value after each kill. */
  clock: number;
  memory: Memory;
  /** The controller decides next at this time, or when these objects change. */
  due: { objects: string; at: number };
  snapshot: Api | null;
  saved: Api | null;
  trace: string[];
  tracing: boolean;
  truth: Truth;
  churn: number;
  /** Seconds until the agent of a joining machine starts, in addition to the usual 1 to 4. */
  startDelay: number;
  /** Seconds from the time that is recorded in a publication to the end of its write. */
  writes: number;
  /** Every fourth Node of a lost machine stays this many times longer than the other Nodes. */
  linger: number;
};

export const FORGET = 1800;

export class LawBroken extends Error {
  readonly law: string;
  constructor(law: string, what: string) {
    super(`${law}: ${what}`);
    this.law = law;
  }
}

export const fail = (law: string, what: string): never => {
  throw new LawBroken(law, what);
};

export const between = (w: World, low: number, high: number): number =>
  low + w.random.below(high - low + 1);

export function log(w: World, text: string): void {
  if (w.tracing) w.trace.push(`${String(w.t).padStart(5)} ${text}`);
}

export const keyOf = ({ rev, digest, since }: Grant): string => `${rev}/${digest}/${since}`;

export const newState = (rev: number, retry = 0, replaced: string[] = []): State => ({
  rev,
  word: false,
  base: -1,
  awaited: -1,
  canary: "",
  canaryNode: "",
  halted: false,
  failed: [],
  lost: [],
  retry,
  replaced,
});

export const wantedDigest = ({ a, b }: Pick<Api, "a" | "b">): Digest => `${a}.${b}`;

export const servedDigest = (s: Secret): Digest =>
  s.served === 0 ? RELEASE : s.served === s.rev ? s.digest : s.servedDigest;

/** True if a source of the first content is missing in the second. */
export function withdraws(had: Digest, want: Digest): boolean {
  const next = want.split(".");
  return had.split(".").some((value, at) => value !== "0" && next[at] === "0");
}

export const budgetOf = ({ budget, nodes }: Api): number =>
  Math.max(1, budget >= 100 ? nodes.size : Math.min(budget, Math.max(1, nodes.size)));

export const isReachable = (w: World, m: Machine): boolean =>
  m.net <= w.t && m.power <= w.t && m.kubelet && !m.dead;

export const modeOf = (w: World, m: Machine): Mode =>
  w.templates.get(m.template)?.mode ?? w.api.want.mode;

/** True while the pod of this machine has a grant that the machine has not fulfilled. */
export const isOpen = (m: Machine, { grant, uid }: Pod): boolean =>
  grant !== null &&
  grant.rev > 0 &&
  m.podUid === uid &&
  !(
    m.journal !== null &&
    m.journal.rev === grant.rev &&
    m.journal.digest === grant.digest &&
    m.journal.begun === null
  );

function newMachine(w: World, name: string): Machine {
  w.ids += 1;
  return {
    name,
    id: w.ids,
    net: 0,
    power: 0,
    dead: false,
    silent: 0,
    skew: w.random.once(3) ? w.random.pick([-5000, -3, 3, 5000]) : 0,
    kubelet: true,
    kubeletStart: w.t,
    kubeletBack: 0,
    loaded: RELEASE,
    file: RELEASE,
    fileMode: "Restart",
    journal: null,
    podUid: 0,
    template: 0,
    running: false,
    startAt: 0,
    startedAt: 0,
    exits: 0,
    mount: null,
    mountAt: 0,
    patchSeen: "",
    seen: "",
    answered: false,
    ready: false,
    since: w.t,
    readyAt: w.t,
    message: null,
    lastExit: -9999,
    blind: 0,
    slow: 0,
    unfit: 0,
    unstartable: "",
    startDelay: w.startDelay,
    restarts: [],
    wait: 0,
    retryAt: 0,
    goneAt: 0,
  };
}

/** A new machine registers under this name. */
export function join(w: World, name: string): Machine {
  const m = newMachine(w, name);
  w.machines.set(name, m);
  w.api.nodes.set(name, { name, uid: m.id, created: w.t });
  w.api.pods.delete(name);
  return m;
}

/** The Node and the machine disappear together. */
export function leave(w: World, name: string): void {
  w.api.nodes.delete(name);
  w.api.pods.delete(name);
  w.machines.delete(name);
  w.truth.lostAgents.delete(name);
}

/**
 * Kills the controller for `seconds`. Erases its memory, and gives it another clock. The next
 * controller reads all objects again.
 */
export function kill(w: World, seconds: number): void {
  w.memory = noMemory;
  w.snapshot = null;
  w.due = { objects: "", at: 0 };
  w.deadUntil = w.t + seconds;
  w.truth.lastKill = w.deadUntil;
  w.clock = between(w, 0, 100_000);
}
