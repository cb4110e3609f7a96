/** Requests of the simulated nodes and controllers, and what follows if a request is refused. */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster, Query } from "#kube/client/cluster.ts";
import { collections } from "#kube/client/paths.ts";

/**
 * Milliseconds after which requests that keep failing are an error. No conflict lasts that long,
 * and no test cuts the nodes off from the API for that long.
 */
const longestFailing = 30_000;
/** Milliseconds after which a failed request is tried again. */
const pause = 150;
/** The number of requests at the same time. */
const parallel = 16;

/** Begins to delete a pod, as the DaemonSet controller does. */
export async function deletePod(cluster: Cluster, { name, uid = "" }: V1ObjectMeta): Promise<void> {
  await lenient(cluster.remove(`${collections.pods}/${name}`, uid));
}

/**
 * Deletes a pod without a grace period, like a kubelet that has ended the containers. Uses an
 * eviction, which the API treats as a deletion once the pod is ending.
 */
export async function endPod(cluster: Cluster, of: V1ObjectMeta): Promise<void> {
  const { name = "", namespace = "", uid = "" } = of;
  const deleteOptions = { gracePeriodSeconds: 0, preconditions: { uid } };
  const metadata = { name, namespace };
  const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata, deleteOptions };
  await lenient(cluster.create(`${collections.pods}/${name}/eviction`, eviction));
}

/**
 * Returns undefined if the object is gone or another client has written it. The next step then
 * reads the object again.
 */
export async function lenient<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof ApiError && (error.status === 404 || error.status === 409))
      return undefined;
    throw error;
  }
}

/** Does the work for each item, for at most 16 items at a time. */
export async function inParallel<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const runWorker = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(parallel, items.length) }, runWorker));
}

/**
 * Repeats the work at this interval until `signal` aborts. Ignores a failed attempt, but rejects if
 * all attempts fail for 30 s.
 */
export async function repeat(
  milliseconds: number,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  let failing: number | undefined;
  while (!signal.aborted) {
    try {
      await work();
      failing = undefined;
    } catch (error) {
      failing ??= performance.now();
      if (performance.now() - failing > longestFailing) throw error;
    }
    const rest = failing === undefined ? milliseconds : Math.max(milliseconds, pause);
    await sleep(rest, undefined, { signal }).catch(() => {});
  }
}

/** Takes the objects of a collection, and each change, until the server ends the watch. */
export async function watch<T>(
  cluster: Cluster,
  [path, query]: readonly [string, Query],
  signal: AbortSignal,
  take: (object: T, gone: boolean) => void,
): Promise<void> {
  const receive = (line: string) => {
    const { type, object } = JSON.parse(line) as { type: string; object: T };
    if (type === "ERROR") throw new Error("the watch is too old");
    if (type !== "BOOKMARK") take(object, type === "DELETED");
  };
  // Without a resourceVersion the watch begins with the existing objects.
  const asked = { ...query, allowWatchBookmarks: "true" };
  await cluster.stream(path, asked, signal, receive).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
