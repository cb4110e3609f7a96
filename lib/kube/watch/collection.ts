/** Two ways to follow a collection: with hints only, or with an informer that keeps the objects. */
import type { KubernetesObject } from "@kubernetes/client-node";
import type { Cluster, PageOptions, Query } from "#kube/client/cluster.ts";
import type { CollectionInformer } from "./informer.ts";
import { Ended, listAndWatch, type ListWatch } from "./list-watch.ts";

type Options = Readonly<{
  cluster: Cluster;
  path: string;
  query: Query;
  /** Called at each change, only to note that there was a change. */
  hint: () => void;
  failed: (error: Error) => void;
  signal: AbortSignal;
}>;

/**
 * Calls `hint` after each list and at each change. A list follows each watch, because we might have
 * missed a change. Never rejects; ends when `signal` aborts.
 */
export async function watchCollection(options: Options): Promise<void> {
  const { cluster, path, query, hint, signal } = options;
  await listAndWatch({
    ...options,
    async list() {
      // One object is enough: the version is that of the whole collection.
      const from = new URLSearchParams({ ...query, limit: "1" });
      const page = await cluster.get<List>(`${path}?${from}`, { signal });
      if (page === undefined) throw new Error(`${path}: is not served`);
      hint();
      return page.metadata.resourceVersion;
    },
    received: hint,
  });
}

/**
 * Keeps an informer up to date, and calls `hint` after each list and each change of a kept part.
 * The collection is listed once, in pages, and again only after a watch that ended early. An idle
 * collection therefore causes no traffic except a new watch every four minutes. An object that is
 * larger than a page is reported to `skipped`, or to `failed`, and left out. Never rejects; ends
 * when `signal` aborts.
 */
export async function followCollection<T>(
  options: Options &
    Readonly<{
      informer: CollectionInformer<T>;
      /** `metadata`: the informer gets the objects' metadata only. */
      as?: "metadata";
    }> &
    Pick<PageOptions, "skipped" | "mostValues"> &
    Pick<ListWatch, "bounds" | "exceeded">,
): Promise<void> {
  const { cluster, path, query, as, informer, hint, failed, signal, mostValues } = options;
  const { skipped = (_, error) => failed(error) } = options;
  const how = { signal, skipped, mostValues, ...(as !== undefined && { as }) };
  await listAndWatch({
    ...options,
    resumes: true,
    failed(error) {
      informer.failed(error);
      failed(error);
    },
    arrives: () => informer.alive(),
    async list() {
      let version = "";
      informer.begins();
      const each = (objects: readonly KubernetesObject[], at: string) => {
        informer.page(objects);
        version = at;
      };
      await cluster.pages<KubernetesObject>(path, query, each, how);
      informer.listed(version);
      hint();
      return version;
    },
    received({ object, version, deleted }) {
      // Kubelets write the status of their Nodes every few minutes, and 5,000 Nodes several times a
      // second. Such an event must not start a run.
      if (informer.received(object, version, deleted)) hint();
      // There is room for an object that was left out. Only a list shows which objects there are.
      if (deleted && informer.cut > 0) throw new Ended("an object is gone, others are left out");
    },
    lost: () => informer.lost(),
  });
}

type List = { metadata: { resourceVersion: string } };
