/** The finalizer that keeps a deleted object until its cleanup is complete. */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { Cluster } from "#kube/client/cluster.ts";

type Finalized = Readonly<{ metadata: V1ObjectMeta }>;

/**
 * Adds or removes the finalizer if necessary, and returns the object. The write changes the object
 * only if it still has the version that we read. Unlike an apply, this can also remove a finalizer
 * that another field manager, such as a backup tool, wrote.
 */
export async function writeFinalizer<T extends Finalized>(
  cluster: Pick<Cluster, "patch">,
  path: string,
  object: T,
  finalizer: string,
  isNeeded: boolean,
): Promise<T> {
  const { uid = "", resourceVersion = "", finalizers: all = [] } = object.metadata;
  if (all.includes(finalizer) === isNeeded) return object;
  const others = all.filter((name) => name !== finalizer);
  const finalizers = isNeeded ? [...others, finalizer] : others;
  return await cluster.patch<T>(path, { metadata: { uid, resourceVersion, finalizers } });
}
