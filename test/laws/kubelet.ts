/**
 * A machine's kubelet: it restarts, runs the agent's pod, mounts the Secret, and reports the pod.
 */
import {
  between,
  breakageOf,
  chance,
  changePod,
  isNotReady,
  isOnline,
  log,
  nothing,
  nowOf,
  podOf,
  type Machine,
  type Pod,
  type World,
} from "./world.ts";

/** Restarts the kubelet. systemd needs a second or two. */
export function restartKubelet(world: World, machine: Machine, reason: string): void {
  log(world, () => `${machine.name} restarts its kubelet: ${reason}`);
  machine.isKubeletUp = false;
  machine.kubeletBackAt = world.t + between(world, 1, 2);
}

/** The kubelet comes back, unless the content of its file breaks it. */
function comeBack(world: World, machine: Machine): void {
  const breakage = breakageOf(world, machine, machine.disk.file);
  machine.kubeletBackAt = 0;
  if (breakage === undefined) {
    machine.isKubeletUp = true;
    machine.kubeletStart = world.t;
    return;
  }
  const change = machine.disk.journal?.change;
  if (change !== undefined && !change.isRestoring) world.observer.broke(machine, change);
  // Without a kubelet, nothing starts the agent's container again.
  if (!breakage.isSilent && machine.isRunning) return;
  log(world, () => `${machine.name} falls silent`);
  machine.isDead = true;
}

/**
 * A new pod: the agent's former process ends, and the new one starts after a few seconds. After a
 * release, nothing of the former pod is left on the disk.
 */
function takePod(world: World, machine: Machine, pod: Pod | undefined): void {
  endProcess(machine);
  const { disk } = machine;
  if (disk.journal?.content === nothing && disk.journal.change === undefined)
    Object.assign(disk, { journal: undefined, report: undefined });
  machine.pod = pod?.uid ?? 0;
  machine.template = pod?.template;
  machine.exits = 0;
  machine.mounted = undefined;
  machine.startAt = world.t + (machine.isNew ? between(world, 20, 40) : between(world, 1, 4));
  machine.isNew = false;
}

/** The agent's process ends, and with it everything that is only in its memory. */
function endProcess(machine: Machine): void {
  machine.isRunning = false;
  machine.secret = undefined;
  machine.object = undefined;
  machine.secretDueAt = machine.objectDueAt = machine.reportAt = 0;
}

/** The agent's process dies. Kubernetes starts it again after a pause that doubles. */
export function crash(world: World, machine: Machine): void {
  log(world, () => `the agent of ${machine.name} dies`);
  machine.exits = world.t - machine.startedAt > 600 ? 0 : machine.exits + 1;
  machine.startAt = world.t + (machine.exits === 0 ? 1 : Math.min(300, 5 * 2 ** machine.exits));
  endProcess(machine);
}

function start(world: World, machine: Machine): void {
  machine.isRunning = true;
  machine.startedAt = world.t;
  machine.frozenUntil = 0;
  // The new process reads the present objects, soon.
  machine.secretDueAt = world.t + between(world, 0, 2);
  machine.objectDueAt = world.t + between(world, 0, 2);
}

/** The Secret's volume: up to date when the pod starts, then renewed every 60 to 90 s. */
function mount(world: World, machine: Machine): void {
  if (machine.mounted !== undefined && world.t < machine.mountDueAt) return;
  const [secret] = world.secrets.asOf(world.t, chance(world, 0.1) ? 2 : 0, -1).values();
  machine.mounted = secret;
  machine.mountDueAt = world.t + between(world, 60, 90);
}

/** Reports the pod's state to the API server. */
function reportPod(world: World, machine: Machine, pod: Pod): void {
  if (isNotReady(machine)) return;
  const isReady = pod.readySince !== undefined;
  if (pod.isRunning === machine.isRunning && isReady === machine.isRunning) return;
  const { isRunning } = machine;
  const readySince = isRunning ? nowOf(world) : undefined;
  changePod(world, machine.name, pod.uid, { isRunning, readySince });
}

export function kubeletTick(world: World, machine: Machine): void {
  const { t } = world;
  if (!machine.isKubeletUp) {
    if (machine.kubeletBackAt === 0 || t < machine.kubeletBackAt) return;
    comeBack(world, machine);
    if (!machine.isKubeletUp) return;
  }
  const online = isOnline(world, machine);
  if (online && t > machine.kubeletStart) machine.leaseAt = t;
  const pod = podOf(world, machine.name);
  if (online && machine.pod !== (pod?.uid ?? 0)) takePod(world, machine, pod);
  const { template } = machine;
  if (machine.pod === 0 || template === undefined) return;
  if (online) mount(world, machine);
  if (!machine.isRunning && t >= machine.startAt && template.starts) start(world, machine);
  const isDying = template.life > 0 && t - machine.startedAt >= template.life;
  if (machine.isRunning && isDying) crash(world, machine);
  if (online && pod !== undefined && pod.uid === machine.pod) reportPod(world, machine, pod);
}
