/**
 * The world in which a rollout takes place: the API server's objects, the machines, and what a
 * person wants. One tick is one second. Every random choice comes from the run's seed. Nothing here
 * is product code; product.ts is the only file that calls the product.
 */
import { Random } from "#test/random.ts";
import { Store } from "./store.ts";

/** "A-B": the values of registry a and registry b. 0: there is no entry for this registry. */
export type Content = string;
export const nothing: Content = "0-0";

export type Mode = "Restart" | "Reread";

/** Seconds since 1970 at the first tick. */
export const epoch = 1_760_000_000;

export type Secret = Readonly<{
  version: number;
  revision: number;
  content: Content;
  mode: Mode;
  served: number;
  servedContent: Content;
  publishedAt: number;
}>;

/** An agent image and its configuration. `life`: the agent dies after so many seconds; 0: never. */
export type Template = Readonly<{ id: number; mode: Mode; starts: boolean; life: number }>;

export type DaemonSet = Readonly<{ version: number; template: Template; maxUnavailable: number }>;

export type Order = Readonly<{ revision: number; content: Content; attempt: number }>;

export type Report = Order &
  Readonly<{ result: "Proved" | "Failed" | "Refused" | "Removed"; mode: Mode; since: number }>;

/** A NodePullSecret. `owner`: the Node's uid. */
export type NodeObject = Readonly<{
  name: string;
  uid: number;
  owner: number;
  version: number;
  order: Order | undefined;
  report: Report | undefined;
}>;

export type Node = Readonly<{
  name: string;
  uid: number;
  created: number;
  isControlPlane: boolean;
}>;

export type Pod = Readonly<{
  uid: number;
  created: number;
  template: Template;
  isDeleting: boolean;
  isRunning: boolean;
  readySince: number | undefined;
  isUnreachable: boolean;
}>;

/** A change of the node's file that has begun. */
export type Change = {
  revision: number;
  content: Content;
  attempt: number;
  isAsked: boolean;
  /** A change is ended in the mode in which it began. */
  mode: Mode;
  tries: number;
  placedAt: number;
  beganAt: number;
  isRestoring: boolean;
};

export type Journal = {
  revision: number;
  /** The content in force. During a change, the content that comes back if the kubelet does not. */
  content: Content;
  /** The highest revision of the Secret that the agent has seen. */
  seen: number;
  change: Change | undefined;
};

/** What remains when a machine is switched off. `kind` decides which contents break its kubelet. */
export type Disk = {
  kind: number;
  file: Content;
  journal: Journal | undefined;
  report: Report | undefined;
  /** The attempt of the last order that was answered. */
  answered: number;
};

export type Machine = {
  name: string;
  /** The Node's uid. */
  uid: number;
  joinedAt: number;
  hasFormerDisk: boolean;
  isControlPlane: boolean;
  disk: Disk;
  /** Times until which a trouble lasts. `isDead`: for ever. */
  isDead: boolean;
  offlineUntil: number;
  agentOfflineUntil: number;
  frozenUntil: number;
  unfitUntil: number;
  slowUntil: number;
  /** Seconds since the node's last Lease. */
  silentFor: number;
  /** When the cloud deletes the Node. 0: it does not. */
  goneAt: number;
  isKubeletUp: boolean;
  /** 0: only the agent or a person can start the kubelet. */
  kubeletBackAt: number;
  kubeletStart: number;
  leaseAt: number;
  /** The pod that the kubelet runs. 0: none. */
  pod: number;
  template: Template | undefined;
  isNew: boolean;
  isRunning: boolean;
  startAt: number;
  startedAt: number;
  exits: number;
  /** The agent's process has received these through its watches. */
  secret: Secret | undefined;
  secretDueAt: number;
  object: NodeObject | undefined;
  objectDueAt: number;
  mounted: Secret | undefined;
  mountDueAt: number;
  reportAt: number;
};

/** A patch of a node's status that the network delays. */
type DelayedPatch = Readonly<{ at: number; name: string; uid: number; report: Report }>;

/** A content that breaks the kubelets of so many percent of the machines. */
export type Breakage = Readonly<{ isSilent: boolean; percent: number }>;

export type Policy = {
  maxUnavailable: number | "all";
  maxFailures: number;
  forgetAfter: number;
  minInterval: number;
  probation: number;
};

/**
 * When the cloud deletes the Node of a dead machine: after 5 to 15 s, after 2 to 10 min, or never.
 */
export type Cloud = "fast" | "late" | "never";

/** What the controller reports after a decision. */
export type Claim = Readonly<{
  isReady: boolean;
  haltedBy: "failed" | "lost" | undefined;
  current: number;
}>;

/** What happens in the world. laws.ts listens. */
export type Observer = {
  published(before: Secret | undefined, secret: Secret): void;
  promoted(secret: Secret): void;
  /** These Nodes are recorded as asked, before they are asked. */
  recorded(uids: readonly number[]): void;
  asked(object: NodeObject, order: Order): void;
  completed(leftBehind: readonly string[]): void;
  /** The controller's state is deleted. */
  forgotten(): void;
  /** A backup of etcd is restored, with this Secret. */
  restored(secret: Secret | undefined): void;
  claimed(claim: Claim): void;
  /** A NotReady Node is Ready again, or is deleted. */
  notReadyEnded(): void;
  nodeGone(machine: Machine): void;
  objectGone(object: NodeObject): void;
  reported(object: NodeObject, report: Report): void;
  joined(machine: Machine, content: Content, source: Secret): void;
  restarts(machine: Machine, change: Change): void;
  broke(machine: Machine, change: Change): void;
  proved(machine: Machine, content: Content): void;
  /** An available agent is replaced by an agent of this template. */
  replaced(name: string, template: Template): void;
};

/**
 * The controller's process. `id` rises with each start. Lags are in seconds, one for each watch.
 */
type Controller = {
  id: number;
  startsAt: number;
  /** The writes until the process is killed. Negative: it is not killed. */
  writesLeft: number;
  killsAfterWrite: boolean;
  losesAnswersUntil: number;
  lag: { core: number; pods: number; objects: number; nodes: number };
  lagUntil: number;
};

/** Objects are never changed, only replaced, so a copy of the stores is a backup. */
type Backup = Readonly<{
  stores: readonly ReadonlyMap<string, unknown>[];
  source: World["source"];
}>;

export type World = {
  t: number;
  random: Random;
  /** The API server's clock is so many seconds ahead. */
  clock: number;
  ids: number;
  secrets: Store<Secret>;
  /** The controller's state. Its content is the product's. */
  states: Store<Readonly<{ version: number; value: unknown }>>;
  daemonSets: Store<DaemonSet>;
  nodes: Store<Node>;
  /** The pods of each node, the oldest first. */
  pods: Store<readonly Pod[]>;
  objects: Store<NodeObject>;
  machines: Map<string, Machine>;
  disks: Disk[];
  backup: Backup | undefined;
  delayed: DelayedPatch[];
  /** When a pod or an object is removed, by its uid. */
  removalAt: Map<number, number>;
  /** The names of deleted Nodes whose pods or objects still exist. */
  leaving: Set<string>;
  cloud: Cloud;
  source: { a: number; b: number };
  template: Template;
  policy: Policy;
  pausedUntil: number;
  unguardedUntil: number;
  retries: number;
  bad: Map<number, Breakage>;
  controller: Controller;
  observer: Observer;
  trace: string[] | undefined;
};

/** The names of the only Secret, state and DaemonSet in their stores. */
export const only = "";

/** What the API server's clock shows. */
export const nowOf = (world: World): number => epoch + world.t + world.clock;

export const wantedContent = ({ source }: World): Content => `${source.a}-${source.b}`;

export const between = (world: World, low: number, high: number): number =>
  low + world.random.below(high - low + 1);

export const chance = (world: World, share: number): boolean => world.random.fraction() < share;

export function log(world: World, text: () => string): void {
  world.trace?.push(`${String(world.t).padStart(5)} ${text()}`);
}

/** Removes every registry of `content` that `newest` does not have. A changed value stays. */
export function withoutRemoved(content: Content, newest: Content): Content {
  if (content === newest || content === nothing) return content;
  const values = newest.split("-");
  return content
    .split("-")
    .map((value, index) => (values[index] === "0" ? "0" : value))
    .join("-");
}

/** Whether each entry of `part` is also an entry of `whole`. */
export function isPart(part: Content, whole: Content): boolean {
  const values = whole.split("-");
  return part.split("-").every((value, index) => value === "0" || value === values[index]);
}

/** How the content breaks this machine's kubelet. */
export function breakageOf(
  world: World,
  { disk }: Machine,
  content: Content,
): Breakage | undefined {
  if (world.bad.size === 0) return undefined;
  const breakage = world.bad.get(Number(content.split("-")[0]));
  return breakage && (disk.kind * 37) % 100 < breakage.percent ? breakage : undefined;
}

export const isOnline = (world: World, machine: Machine): boolean =>
  !machine.isDead && machine.offlineUntil <= world.t;

/** The pod that a kubelet runs: the newest that is not being deleted. */
export function podOf(world: World, name: string): Pod | undefined {
  return world.pods.get(name)?.findLast((pod) => !pod.isDeleting);
}

export function changePod(world: World, name: string, uid: number, changes: Partial<Pod>): void {
  const pods = world.pods.get(name) ?? [];
  const changed = pods.map((pod) => (pod.uid === uid ? Object.assign({}, pod, changes) : pod));
  world.pods.set(world.t, name, changed);
}

/** Seconds without a Lease after which the node controller reports a node as NotReady. */
export const graceSeconds = 40;

export const isNotReady = ({ silentFor }: Machine): boolean => silentFor >= graceSeconds;

/** A new machine joins, or one returns with its old disk. */
export function join(world: World, name: string, disk?: Disk): Machine {
  const uid = ++world.ids;
  const controlPlane = [...world.machines.values()].filter((machine) => machine.isControlPlane);
  const isControlPlane = uid % 7 < 2 && controlPlane.length < 3;
  const { t } = world;
  const machine: Machine = {
    name,
    uid,
    joinedAt: t,
    hasFormerDisk: disk !== undefined,
    isControlPlane,
    disk: disk ?? { kind: uid, file: nothing, journal: undefined, report: undefined, answered: 0 },
    isDead: false,
    offlineUntil: 0,
    agentOfflineUntil: 0,
    frozenUntil: 0,
    unfitUntil: 0,
    slowUntil: 0,
    // Pods of a former Node of this name are still NotReady.
    silentFor: world.pods.get(name) === undefined ? 0 : graceSeconds,
    goneAt: 0,
    isKubeletUp: true,
    kubeletBackAt: 0,
    kubeletStart: t,
    leaseAt: t,
    pod: 0,
    template: undefined,
    isNew: disk === undefined,
    isRunning: false,
    startAt: 0,
    startedAt: 0,
    exits: 0,
    secret: undefined,
    secretDueAt: 0,
    object: undefined,
    objectDueAt: 0,
    mounted: undefined,
    mountDueAt: 0,
    reportAt: 0,
  };
  world.machines.set(name, machine);
  world.nodes.set(t, name, { name, uid, created: nowOf(world), isControlPlane });
  return machine;
}

/** The Node is deleted. PodGC and the garbage collector follow later, see control-plane.ts. */
export function removeNode(world: World, machine: Machine): void {
  log(world, () => `${machine.name} is deleted`);
  const { name, disk } = machine;
  // A machine whose content breaks its kubelet does not come back. Its file can be overwritten.
  const { journal, file } = disk;
  const breaks = [file, journal?.change?.content ?? nothing].some((content) =>
    breakageOf(world, machine, content),
  );
  if (journal !== undefined && !breaks && chance(world, 0.5))
    world.disks.push(structuredClone(disk));
  world.nodes.set(world.t, name, undefined);
  world.machines.delete(name);
  world.leaving.add(name);
  world.observer.nodeGone(machine);
}
