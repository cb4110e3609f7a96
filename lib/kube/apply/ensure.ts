/**
 * Brings one of our objects to what we declare, with as few requests as possible: nothing is sent
 * when nothing differs. Drift is what a write of ours would change
 * (docs/inside/decisions/drift.md). If the live object is not as declared, a dry run shows what the
 * API server would store after other people's admission policies and webhooks have changed the
 * object.
 */
import type { KubernetesObject, V1DaemonSet, V1ObjectMeta } from "@kubernetes/client-node";
import { contains } from "./difference.ts";
import { demand } from "./demands.ts";
import { newborn, type Cluster } from "#kube/client/cluster.ts";
import { fieldManager } from "#kube/client/ownership.ts";
import { owned } from "#kube/client/paths.ts";
import { isSame, type Admitted } from "./admission.ts";

type Live<T> = T & { metadata?: V1ObjectMeta };
type On = Readonly<{ cluster: Cluster; admitted: Admitted }>;

/**
 * Creates or repairs an object. Creation never overwrites: if another client created the object in
 * the same instant, our request fails with 409. We change an existing object only if it still has
 * the version that we read. Fields that we do not declare are left to their managers.
 */
export async function ensure<T extends KubernetesObject>(
  on: On,
  path: string,
  live: Live<T> | undefined,
  declared: T,
): Promise<T> {
  const { cluster, admitted } = on;
  if (live === undefined) {
    const metadata = { ...declared.metadata, resourceVersion: newborn };
    const created = await cluster.apply<T>(
      path,
      { ...declared, metadata },
      { manager: fieldManager, force: false },
    );
    return accept(admitted, path, declared, created);
  }
  if (isSame(await plan(on, path, live, declared), live)) return live;
  return accept(admitted, path, declared, await write(cluster, path, live, declared, false));
}

/** True if a write of ours would change the DaemonSet's spec. */
export async function isDrifted(
  on: On,
  live: V1DaemonSet,
  declared: V1DaemonSet,
): Promise<boolean> {
  const { spec } = await plan(on, owned.daemonSet, live, declared);
  return !isSame({ ...live, spec } as KubernetesObject, live);
}

/**
 * The object that the API server would store if we wrote our declaration. Returns `live` itself if
 * it is as declared, or if a recent dry run showed that a write would change nothing.
 */
async function plan<T extends KubernetesObject>(
  { cluster, admitted }: On,
  path: string,
  live: Live<T>,
  declared: T,
): Promise<T> {
  if (contains(live, declared)) {
    admitted.forget(path);
    return live;
  }
  if (admitted.holds(path, declared, live)) return live;
  const written = await write(cluster, path, live, declared, true);
  demand(path, declared, written);
  if (isSame(written, live)) admitted.keep(path, declared, live);
  return written;
}

function accept<T extends KubernetesObject>(
  admitted: Admitted,
  path: string,
  declared: T,
  result: T,
): T {
  demand(path, declared, result);
  if (contains(result, declared)) admitted.forget(path);
  else admitted.keep(path, declared, result);
  return result;
}

async function write<T extends KubernetesObject>(
  cluster: Cluster,
  path: string,
  live: Live<T>,
  declared: T,
  dryRun: boolean,
): Promise<Live<T>> {
  const { uid, resourceVersion } = live.metadata ?? {};
  const body = { ...declared, metadata: { ...declared.metadata, uid, resourceVersion } };
  return cluster.apply<Live<T>>(path, body, { manager: fieldManager, force: true, dryRun });
}
