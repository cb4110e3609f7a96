/**
 * Keeps the informer of one object up to date. Each change is also a hint, which only means "check
 * again".
 */
import type { KubernetesObject } from "@kubernetes/client-node";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import type { Informer } from "./informer.ts";
import { listAndWatch, type ListWatch } from "./list-watch.ts";

/**
 * A collection, and the name of the one object in it that we follow. Rights can therefore be
 * limited to that name. `keep` returns the part of the object to keep. Default: the whole object.
 */
export type WatchTarget = Readonly<{
  collection: string;
  name: string;
  keep?: (object: KubernetesObject) => KubernetesObject;
}>;

type Options = Readonly<{
  cluster: Cluster;
  target: WatchTarget;
  informer: Informer;
  /** Called at each change, only to note that there was a change. */
  hint: () => void;
  /** Called when a watch ended with an error, for the log. */
  failed: (error: Error) => void;
  signal: AbortSignal;
  /**
   * Maximum milliseconds between two attempts, if the usual maximum, a minute and a half, is too
   * long.
   */
  longestPause?: number;
}> &
  Pick<ListWatch, "bounds" | "exceeded">;

/** Follows the object until `signal` aborts. Never rejects. */
export async function follow(options: Options): Promise<void> {
  const { cluster, target, informer, hint, signal } = options;
  const { keep = (object) => object } = target;
  await listAndWatch({
    ...options,
    path: target.collection,
    query: { fieldSelector: only(target) },
    async list() {
      const asked = informer.doubts;
      const { object, version } = await list(cluster, target, signal);
      informer.listed(object, version, asked);
      hint();
      return version;
    },
    received({ object, version, deleted }) {
      informer.received(deleted ? undefined : keep(object), version);
      hint();
    },
    lost: () => informer.lost(),
  });
}

type List = {
  kind: string;
  apiVersion: string;
  metadata: { resourceVersion: string };
  items: KubernetesObject[];
};

const only = ({ name }: WatchTarget) => `metadata.name=${name}`;

/**
 * The object, if it exists, and the version at which this is true. We request a list, because a
 * plain read of an absent object has no version.
 */
export async function list(cluster: Cluster, target: WatchTarget, signal?: AbortSignal) {
  const { collection } = target;
  const path = `${collection}?${new URLSearchParams({ fieldSelector: only(target) })}`;
  const answer = await cluster.get<List>(path, signal === undefined ? {} : { signal });
  if (answer === undefined)
    throw new ApiError({ status: 404, reason: "NotFound", method: "LIST", path: collection });
  const [item] = answer.items;
  // Items of a list carry no kind, unlike an object that is read or watched.
  const kind = answer.kind.replace(/List$/, "");
  const { keep = (whole) => whole } = target;
  // A server that is not trusted can list anything, even null.
  const object = item ? keep({ ...item, kind, apiVersion: answer.apiVersion }) : undefined;
  return { object, version: answer.metadata.resourceVersion };
}
