/**
 * Keeps the informer of one object up to date: a list, then a watch from there, again and again.
 * However a watch ended, a list follows, because only a list says what exists. Each change is also
 * a hint, which means "look again" and nothing more.
 */
import type { KubernetesObject } from "@kubernetes/client-node";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { Allowance, type Rate } from "#kube/allowance.ts";
import { backoff } from "#kube/client/retry.ts";
import { eventOf } from "./event.ts";
import type { Informer } from "./informer.ts";

/**
 * A collection and the one object of it that is followed. Rights may then be limited to that name.
 * `keep`: what is kept of the object, where that is less than all of it.
 */
export type WatchTarget = Readonly<{
  collection: string;
  name: string;
  keep?: (object: KubernetesObject) => KubernetesObject;
}>;

/**
 * Seconds of one watch: under the 300 s after which the client's HTTP library cuts off a silent
 * body.
 */
const watchSeconds = 240;

type Options = Readonly<{
  cluster: Cluster;
  target: WatchTarget;
  informer: Informer;
  /** Called at each change; must only note that something happened. */
  hint: () => void;
  /** Called when a watch ended with an error, for the log. */
  failed: (error: Error) => void;
  signal: AbortSignal;
  /** Most milliseconds between two tries, where the usual minute and a half would be too late. */
  longestPause?: number;
  /**
   * What the watches may send, where the server may be anybody's. Of more the watch is ended, and a
   * list says what there is after a pause: any number of events cost what one look costs. What was
   * not sent is saved up from one watch to the next.
   */
  bounds?: Readonly<{ events: Rate; bytes: Rate }>;
  /** Called when a watch was ended for sending more than `bounds`. */
  exceeded?: () => void;
}>;

/** Seconds by which a server may end a watch late. One that goes on is ended here. */
const lateSeconds = 30;

/** Follows the object until `signal` aborts. Never rejects. */
export async function follow({
  cluster,
  target,
  informer,
  hint,
  failed,
  signal,
  longestPause = Number.POSITIVE_INFINITY,
  bounds,
  exceeded = () => {},
}: Options): Promise<void> {
  const { keep = (object) => object } = target;
  const [events, bytes] = [
    bounds && new Allowance(bounds.events),
    bounds && new Allowance(bounds.bytes),
  ];
  const heard = (line: string) => {
    // Counted before it is read: to read it is what costs.
    if (events?.take(1) === false || bytes?.take(Buffer.byteLength(line)) === false)
      throw new Exceeded("more than one object has to say");
    const event = readEvent(line);
    // Bookmarks show only that the watch is alive.
    if (event.type === "BOOKMARK") return;
    informer.heard(event.type === "DELETED" ? undefined : keep(event.object), event.version);
    hint();
  };
  let failures = 0;
  while (!signal.aborted) {
    const started = performance.now();
    let excess = false;
    const over = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    try {
      const asked = informer.doubts;
      const { object, version } = await list(cluster, target);
      informer.listed(object, version, asked);
      hint();
      const seconds = watchSeconds + Math.floor(Math.random() * 30);
      timer = setTimeout(() => over.abort(), (seconds + lateSeconds) * 1000);
      const query = {
        fieldSelector: only(target),
        resourceVersion: version,
        allowWatchBookmarks: "true",
        timeoutSeconds: String(seconds),
      };
      await cluster.stream(target.collection, query, AbortSignal.any([signal, over.signal]), heard);
    } catch (error) {
      if (signal.aborted) return;
      excess = error instanceof Exceeded;
      if (excess) exceeded();
      else if (!(error instanceof Ended || over.signal.aborted)) failed(error as Error);
    } finally {
      clearTimeout(timer);
      informer.lost();
    }
    // A watch normally ends after minutes. Early ends must not become a hot loop.
    failures = performance.now() - started > 10_000 && !excess ? 0 : failures + 1;
    const pause = Math.min(backoff(failures), longestPause);
    if (failures > 0) await sleep(pause, undefined, { signal }).catch(() => {});
  }
}

/** The end of a watch that a list makes good. */
class Ended extends Error {}

/** The end of a watch that sent more than it may. */
class Exceeded extends Ended {}

type List = {
  kind: string;
  apiVersion: string;
  metadata: { resourceVersion: string };
  items: KubernetesObject[];
};

const only = ({ name }: WatchTarget) => `metadata.name=${name}`;

/**
 * The object, if it exists, and the version as of which that is true. A plain read has no version
 * for an absent object.
 */
export async function list(cluster: Cluster, target: WatchTarget) {
  const { collection } = target;
  const found = await cluster.get<List>(
    `${collection}?${new URLSearchParams({ fieldSelector: only(target) })}`,
  );
  if (found === undefined)
    throw new ApiError({ status: 404, reason: "NotFound", method: "LIST", path: collection });
  const [item] = found.items;
  // Items of a list carry no kind, unlike an object that is read or watched.
  const kind = found.kind.replace(/List$/, "");
  const { keep = (one) => one } = target;
  // A server may list anything.
  const object = item ? keep({ ...item, kind, apiVersion: found.apiVersion }) : undefined;
  return { object, version: found.metadata.resourceVersion };
}

type WatchLine = { type: string; object: KubernetesObject & { code?: number } };

function readEvent(line: string): WatchLine & { version: string } {
  const { type, object } = eventOf<WatchLine>(line);
  const version = object.metadata?.resourceVersion;
  if (type === "ERROR" || version === undefined)
    throw new Ended(`watch ended with ${type} ${object.code ?? ""}`);
  return { type, object, version };
}
