/**
 * Kubernetes' own controllers and the cloud: the DaemonSet controller, the node controller, PodGC,
 * the garbage collector of owned objects, and a cloud that deletes the Nodes of dead machines.
 */
import {
  between,
  chance,
  changePod,
  graceSeconds,
  isNotReady,
  log,
  nowOf,
  only,
  removeNode,
  isOnline,
  type DaemonSet,
  type Machine,
  type Pod,
  type World,
} from "./world.ts";

/** Seconds for which a pod must be Ready so that it counts as available. */
const minReadySeconds = 30;

/** The DaemonSet controller makes at most so many requests a second. */
const requestsPerSecond = 20;

export function controlPlaneTick(world: World): void {
  for (const machine of world.machines.values()) judgeNode(world, machine);
  deleteDead(world);
  collectGarbage(world);
  const daemonSet = world.daemonSets.get(only);
  for (const name of world.nodes.live.keys()) endPods(world, name, daemonSet === undefined);
  if (daemonSet === undefined) return;
  createPods(world, daemonSet);
  replacePods(world, daemonSet);
  deliverDelayed(world);
}

/** Node controller: NotReady after 40 s without a Lease. The node's pods turn NotReady with it. */
function judgeNode(world: World, machine: Machine): void {
  const isSilent = !isOnline(world, machine) || !machine.isKubeletUp;
  if (!isSilent && machine.silentFor < graceSeconds) {
    machine.silentFor = 0;
    return;
  }
  if (!isSilent) world.observer.notReadyEnded();
  machine.silentFor = isSilent ? machine.silentFor + 1 : 0;
  if (machine.silentFor === graceSeconds) {
    log(world, () => `${machine.name} is NotReady`);
    if (machine.isDead && world.cloud !== "never")
      machine.goneAt =
        world.t + (world.cloud === "fast" ? between(world, 5, 15) : between(world, 120, 600));
  }
  const isUnreachable = isNotReady(machine);
  const pods = world.pods.get(machine.name) ?? [];
  if (pods.every((pod) => pod.isUnreachable === isUnreachable)) return;
  for (const { uid } of pods)
    changePod(world, machine.name, uid, { isUnreachable, readySince: undefined });
}

function deleteDead(world: World): void {
  for (const machine of world.machines.values())
    if (machine.goneAt > 0 && world.t >= machine.goneAt) removeNode(world, machine);
}

/** Whether the removal of `uid` is due. The first call sets the time. */
function isDue(world: World, uid: number, low: number, high: number): boolean {
  const { removalAt, t } = world;
  const at = removalAt.get(uid) ?? t + between(world, low, high);
  removalAt.set(uid, at);
  if (t < at) return false;
  removalAt.delete(uid);
  return true;
}

/** PodGC: 40 to 60 s after the Node is gone. Owned objects: up to 30 s after. */
function collectGarbage(world: World): void {
  for (const name of world.leaving) {
    const node = world.nodes.get(name);
    const pods = world.pods.get(name);
    if (node === undefined && pods !== undefined) {
      const rest = pods.filter((pod) => !isDue(world, pod.uid, 40, 60));
      if (rest.length < pods.length)
        world.pods.set(world.t, name, rest.length === 0 ? undefined : rest);
    }
    const object = world.objects.get(name);
    if (object !== undefined && object.owner !== node?.uid && isDue(world, object.uid, 0, 30)) {
      world.objects.set(world.t, name, undefined);
      world.observer.objectGone(object);
    }
    const isOwned = object === undefined || object.owner === node?.uid;
    if (isOwned && (node !== undefined || !world.pods.get(name))) world.leaving.delete(name);
  }
}

/** Deletes a pod. Its kubelet ends it within 30 s; its successor can exist before that. */
export function deletePod(world: World, name: string, uid: number): void {
  changePod(world, name, uid, { isDeleting: true });
}

/** Removes pods that were deleted, as soon as their kubelet has ended them. */
function endPods(world: World, name: string, deletesAll: boolean): void {
  const pods = world.pods.get(name);
  if (pods === undefined) return;
  const running = deletesAll ? pods.find((pod) => !pod.isDeleting) : undefined;
  if (running !== undefined) deletePod(world, name, running.uid);
  if (pods.every((pod) => !pod.isDeleting)) return;
  const machine = world.machines.get(name);
  if (!machine?.isKubeletUp || !isOnline(world, machine)) return;
  const rest = pods.filter((pod) => !pod.isDeleting || !isDue(world, pod.uid, 1, 30));
  if (rest.length < pods.length)
    world.pods.set(world.t, name, rest.length === 0 ? undefined : rest);
}

function createPods(world: World, { template }: DaemonSet): void {
  let requests = requestsPerSecond;
  for (const name of world.nodes.live.keys()) {
    const pods = world.pods.get(name) ?? [];
    if (pods.some((pod) => !pod.isDeleting) || !chance(world, pods.length === 0 ? 0.7 : 0.2))
      continue;
    if ((requests -= 1) < 0) return;
    const pod: Pod = {
      uid: ++world.ids,
      created: nowOf(world),
      template,
      isDeleting: false,
      isRunning: false,
      readySince: undefined,
      isUnreachable: false,
    };
    world.pods.set(world.t, name, [...pods, pod]);
  }
}

const isAvailable = (world: World, { readySince }: Pod): boolean =>
  readySince !== undefined && nowOf(world) - readySince >= minReadySeconds;

/**
 * RollingUpdate without surge. As in Kubernetes, an old pod that is not available is replaced at
 * once, and other old pods as long as fewer than `maxUnavailable` are not available.
 */
function replacePods(world: World, { template, maxUnavailable }: DaemonSet): void {
  let unavailable = 0;
  const broken: [string, Pod][] = [];
  const candidates: [string, Pod][] = [];
  for (const name of world.nodes.live.keys()) {
    const pod = world.pods.get(name)?.findLast(({ isDeleting }) => !isDeleting);
    const isAsWanted = pod?.template.id === template.id;
    if (pod === undefined || !isAvailable(world, pod)) unavailable += 1;
    if (pod !== undefined && !isAsWanted)
      (isAvailable(world, pod) ? candidates : broken).push([name, pod]);
  }
  const replaced = candidates.slice(0, Math.max(0, maxUnavailable - unavailable));
  for (const [name, pod] of [...broken, ...replaced].slice(0, requestsPerSecond)) {
    log(world, () => `the DaemonSet controller replaces the pod of ${name}`);
    deletePod(world, name, pod.uid);
    if (isAvailable(world, pod)) world.observer.replaced(name, template);
  }
}

/** Patches of status that the network has delayed arrive, also after newer ones. */
function deliverDelayed(world: World): void {
  if (world.delayed.length === 0) return;
  const due = world.delayed.filter(({ at }) => at <= world.t);
  world.delayed = world.delayed.filter(({ at }) => at > world.t);
  for (const { name, uid, report } of due) {
    const object = world.objects.get(name);
    if (object?.uid !== uid) continue;
    world.objects.set(world.t, name, { ...object, version: ++world.ids, report });
    world.observer.reported(object, report);
  }
}
