/**
 * A backup of etcd. If a person restores it, the objects are those of an earlier time, while
 * machines and Nodes stay as they are.
 */
import { between, changePod, log, only, type World } from "./world.ts";

const storesOf = ({ secrets, states, daemonSets, pods, objects }: World) =>
  [secrets, states, daemonSets, pods, objects] as const;

export function backUp(world: World): void {
  const stores = storesOf(world).map(({ live }) => new Map<string, unknown>(live));
  world.backup = { stores, source: { ...world.source } };
}

/** Restores the backup. Every watch begins again, and the controller starts again. */
export function restoreBackup(world: World): void {
  const { backup, t } = world;
  if (backup === undefined) return;
  log(world, () => `etcd is restored, with the content ${backup.source.a}-${backup.source.b}`);
  for (const [index, store] of storesOf(world).entries())
    store.restore(t, backup.stores[index] as ReadonlyMap<string, never>);
  world.source = { ...backup.source };
  world.controller.id += 1;
  world.controller.startsAt = t + between(world, 1, 10);
  for (const machine of world.machines.values())
    machine.agentOfflineUntil = Math.max(machine.agentOfflineUntil, t + between(world, 1, 5));
  // Pods and objects of Nodes that are gone are collected, and kubelets report their pods again.
  for (const name of world.objects.live.keys()) world.leaving.add(name);
  for (const [name, pods] of world.pods.live) {
    world.leaving.add(name);
    for (const { uid } of pods) changePod(world, name, uid, { isUnreachable: false });
  }
  world.observer.restored(world.secrets.get(only));
}
