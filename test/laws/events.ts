/** What happens to a cluster: machines, agents, people, API servers and other programs. */
import { crash } from "./kubelet.ts";
import { deletePod } from "./control-plane.ts";
import { backUp, restoreBackup } from "./etcd.ts";
import {
  between,
  breakageOf,
  chance,
  join,
  log,
  nothing,
  only,
  podOf,
  removeNode,
  type Machine,
  type Mode,
  type Template,
  type World,
} from "./world.ts";

/** `who` chooses a machine, `n` everything else. Both are below 1,000. */
export type Event = Readonly<{ t: number; kind: EventKind; who: number; n: number }>;

type Apply = (world: World, machine: Machine, n: number) => void;

/** A value of registry a or b that no content had before. */
function edit(world: World, n: number): void {
  world.source[n % 3 === 0 ? "b" : "a"] = ++world.ids;
}

/** The next value of registry a breaks kubelets. */
function breakWith(isSilent: boolean, percent: number): Apply {
  return (world) => {
    world.source.a = ++world.ids;
    world.bad.set(world.source.a, { isSilent, percent });
  };
}

export function setTemplate(world: World, part: Partial<Omit<Template, "id">>): void {
  const { mode } = world.template;
  world.template = { mode, starts: true, life: 0, ...part, id: ++world.ids };
}

function upgradeTo(part: Partial<Omit<Template, "id">>): Apply {
  return (world) => setTemplate(world, part);
}

/** Joins under a new name. */
export const joinNew = (world: World, disk = false): Machine =>
  join(world, `node${++world.ids}`, disk ? world.disks.pop() : undefined);

/** The machine falls silent and never comes back. */
export function die(world: World, machine: Machine): void {
  machine.isDead = true;
  log(world, () => `${machine.name} dies`);
}

function setKill(world: World, n: number): void {
  world.controller.writesLeft = n % 7;
  world.controller.killsAfterWrite = n % 2 === 0;
}

/** The controller's API server lags behind; each of its watches has its own delay. */
export function lag(world: World, n: number): void {
  const { controller, t } = world;
  const seconds = () => between(world, 0, 4);
  controller.lag = {
    core: seconds(),
    pods: seconds(),
    objects: seconds(),
    nodes: seconds(),
  };
  controller.lagUntil = t + 5 + (n % 60);
}

const budgets: readonly (number | "all")[] = [1, 2, 5, "all"];

const apply = {
  join: (world) => void joinNew(world),
  leave: (world, machine) => removeNode(world, machine),
  die,
  dieAndReplace(world, machine) {
    die(world, machine);
    joinNew(world);
  },
  return: (world) => void (world.disks.length > 0 && joinNew(world, true)),
  sameName(world, machine, n) {
    const { name, disk } = machine;
    const isBroken = breakageOf(world, machine, disk.file) !== undefined;
    removeNode(world, machine);
    join(world, name, n % 2 === 0 && !isBroken ? disk : undefined);
  },
  away(world, machine, n) {
    machine.offlineUntil = Math.max(machine.offlineUntil, world.t + 5 + (n % 400));
  },
  agentAway(world, machine, n) {
    machine.agentOfflineUntil = world.t + 5 + (n % 400);
  },
  outage(world, _, n) {
    for (const machine of world.machines.values())
      if (chance(world, n % 2 === 0 ? 0.3 : 0.6))
        machine.offlineUntil = Math.max(machine.offlineUntil, world.t + 30 + n);
  },
  apiServerAway(world, _, n) {
    for (const machine of world.machines.values())
      machine.agentOfflineUntil = world.t + 10 + (n % 180);
    world.controller.startsAt = Math.max(world.controller.startsAt, world.t + 10 + (n % 180));
  },
  freeze(world, machine, n) {
    machine.frozenUntil = world.t + 5 + (n % 3 === 0 ? n * 100 : n);
  },
  slow(world, machine, n) {
    machine.slowUntil = world.t + n;
  },
  overwrite: (_, { disk }) => void (disk.file = nothing),
  overwriteAll(world) {
    for (const machine of world.machines.values())
      if (chance(world, 0.8)) machine.disk.file = nothing;
  },
  unfit(world, machine, n) {
    machine.unfitUntil = world.t + n;
  },
  unfitMany(world, _, n) {
    for (const machine of world.machines.values())
      if (chance(world, 0.5)) machine.unfitUntil = world.t + n;
  },
  crash: (world, machine) => void (machine.isRunning && crash(world, machine)),
  podDeleted(world, machine) {
    const pod = podOf(world, machine.name);
    if (pod !== undefined) deletePod(world, machine.name, pod.uid);
  },
  kubeletDies(world, machine, n) {
    if (!machine.isKubeletUp) return;
    machine.isKubeletUp = false;
    machine.kubeletBackAt = n % 2 === 0 || !machine.isRunning ? world.t + 10 : 0;
  },
  kill: (world, _, n) => setKill(world, n),
  controllerAway(world, _, n) {
    world.controller.startsAt = world.t + 1 + (n % 200);
    world.controller.id += 1;
  },
  lag: (world, _, n) => lag(world, n),
  loseAnswers(world, _, n) {
    world.controller.losesAnswersUntil = world.t + 2 + (n % 20);
  },
  etcdBackup: backUp,
  etcdRestored: restoreBackup,
  clock(world, _, n) {
    world.clock += (n % 2 === 0 ? 1 : -1) * (5 + n * 4);
  },
  edit: (world, _, n) => edit(world, n),
  bad: breakWith(false, 100),
  badSilent: breakWith(true, 100),
  badSome: breakWith(false, 30),
  badSomeSilent: breakWith(true, 30),
  revert: (world) => void (world.source.a = 1),
  withdraw: (world) => void (world.source = { a: 0, b: 0 }),
  withdrawOne: (world, _, n) => void (world.source[n % 3 === 0 ? "b" : "a"] = 0),
  recreate(world) {
    if (world.source.a === 0) world.source.a = ++world.ids;
    if (world.source.b === 0) world.source.b = ++world.ids;
  },
  flap(world, _, n) {
    world.source.a = world.source.a === 500 + (n % 5) ? 600 : 500 + (n % 5);
  },
  secretDeleted: (world) => world.secrets.set(world.t, only, undefined),
  dismiss(world, { name }) {
    const object = world.objects.get(name);
    if (object === undefined) return;
    world.objects.set(world.t, name, undefined);
    world.observer.objectGone(object);
  },
  retry: (world) => void (world.retries += 1),
  pause: (world, _, n) => void (world.pausedUntil = world.t + (n % 200)),
  unguard: (world, _, n) => void (world.unguardedUntil = world.t + (n % 200)),
  upgrade: upgradeTo({}),
  crashUpgrade: upgradeTo({ life: 10 }),
  crashLater: upgradeTo({ life: 45 }),
  badUpgrade: upgradeTo({ starts: false }),
  changeMode(world) {
    const mode: Mode = world.template.mode === "Restart" ? "Reread" : "Restart";
    setTemplate(world, { mode });
  },
  budget(world, _, n) {
    world.policy.maxUnavailable = budgets[n % budgets.length] ?? 1;
  },
} satisfies Record<string, Apply>;

export type EventKind = keyof typeof apply;

/** The events of random plans. A restore of etcd has plans of its own. */
export const eventKinds = (Object.keys(apply) as EventKind[]).filter(
  (kind) => !kind.startsWith("etcd"),
);

/** Events that need a machine that can be spared. */
const needsSpare = new Set<EventKind>(["leave", "die", "dieAndReplace", "sameName"]);

export function applyEvent(world: World, { kind, who, n }: Event): void {
  const machines = [...world.machines.values()];
  const machine = machines[who % machines.length];
  if (machine === undefined || (machines.length === 1 && needsSpare.has(kind))) return;
  log(world, () => `event: ${kind} ${machine.name} ${n}`);
  apply[kind](world, machine, n);
}

/** Which machines leave: any, or those that have lived longest, as a cloud renews its nodes. */
export type Leaving = "any" | "oldest";

/**
 * Machines leave at a constant rate, and each is replaced. `silently`: the share that dies under
 * the controller's eyes, 40 s before Kubernetes notices it.
 */
export function churn(world: World, perHour: number, silently: number, who: Leaving = "any"): void {
  const alive = [...world.machines.values()].filter(({ isDead }) => !isDead);
  const any = alive.filter(() => chance(world, perHour / 3600));
  for (const machine of who === "any" ? any : alive.slice(0, any.length)) {
    if (chance(world, silently)) die(world, machine);
    else removeNode(world, machine);
    joinNew(world, chance(world, 0.1));
  }
}
