/**
 * A cluster whose single objects are read from informers while the informers are up to date. Each
 * write is reported to the informer of its object.
 */
import type { KubernetesObject } from "@kubernetes/client-node";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import type { Informer } from "./informer.ts";
import { list, type WatchTarget } from "./watch.ts";

/** An object and its informer, which `follow` keeps up to date. */
export type Followed = Readonly<{ target: WatchTarget; informer: Informer }>;

/**
 * Answers reads of followed objects from their informers. Lists and other objects are always read
 * from `live`.
 */
export function cached(live: Cluster, followed: readonly Followed[]): Cluster {
  const byPath = new Map(
    followed.map((entry) => [`${entry.target.collection}/${entry.target.name}`, entry]),
  );

  async function written<T>(
    path: string,
    write: () => Promise<T>,
    options?: { dryRun?: boolean },
  ): Promise<T> {
    const { informer, target } = byPath.get(path) ?? {};
    const keep = target?.keep ?? ((object: KubernetesObject) => object);
    try {
      const reply = await write();
      // A dry run wrote nothing, and its reply is not a stored object.
      if (options?.dryRun !== true) informer?.wrote(keep(reply as KubernetesObject));
      return reply;
    } catch (error) {
      // After a 429 nothing was written, and a list would add load to a server that is overloaded.
      if (!(error instanceof ApiError && error.didNothing)) informer?.doubt();
      throw error;
    }
  }

  return {
    ...live,
    async get<T>(path: string): Promise<T | undefined> {
      const entry = byPath.get(path);
      const shown = entry?.informer.shown ?? "read";
      if (entry === undefined || shown === "read") return live.get<T>(path);
      if (shown !== "list") return shown.object as T | undefined;
      const asked = entry.informer.doubts;
      const { object, version } = await list(live, entry.target);
      entry.informer.relisted(object, version, asked);
      return object as T | undefined;
    },
    apply: (path, body, options) => written(path, () => live.apply(path, body, options), options),
    patch: (path, body) => written(path, () => live.patch(path, body)),
    async remove(path, uid, resourceVersion, propagation) {
      const { informer } = byPath.get(path) ?? {};
      informer?.doubt();
      try {
        await live.remove(path, uid, resourceVersion, propagation);
      } finally {
        // The answer to a list that was requested during the deletion can be older than the
        // deletion.
        informer?.doubt();
      }
    },
  };
}
