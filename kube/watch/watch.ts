/**
 * Keeps an informer of one object: a list, then a watch from there, for ever. A list follows on
 * every watch, however that ended: only a list says what there is. Each change is also a hint,
 * which says "look again" and nothing more.
 */
import type { KubernetesObject } from "@kubernetes/client-node";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { backoff } from "#kube/loop.ts";
import type { Informer } from "./informer.ts";

/**
 * A collection and the one object in it that is followed: rights may then be limited to that name.
 */
export type Target = Readonly<{ collection: string; name: string }>;

/** Under the 300 s after which the client's HTTP library cuts a body that is silent. */
const watchSeconds = 240;

type Options = Readonly<{
  cluster: Cluster;
  target: Target;
  informer: Informer;
  /** Must only note that something happened. */
  hint: () => void;
  /** Told why a watch ended, for the log. */
  failed: (error: Error) => void;
  signal: AbortSignal;
  /** Milliseconds between two tries at most, where a minute and a half would be too late. */
  longestPause?: number;
}>;

/** Follows the object until `signal` aborts. Never rejects. */
export async function follow({
  cluster,
  target,
  informer,
  hint,
  failed,
  signal,
  longestPause = Number.POSITIVE_INFINITY,
}: Options): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    const started = Date.now();
    try {
      const { object, version } = await list(cluster, target);
      informer.listed(object, version);
      hint();
      const timeoutSeconds = String(watchSeconds + Math.floor(Math.random() * 30));
      const asked = {
        fieldSelector: only(target),
        resourceVersion: version,
        allowWatchBookmarks: "true",
        timeoutSeconds,
      };
      await cluster.stream(target.collection, asked, signal, (line) => {
        const event = readEvent(line);
        // Bookmarks only show that the watch lives.
        if (event.type === "BOOKMARK") return;
        informer.heard(event.type === "DELETED" ? undefined : event.object, event.version);
        hint();
      });
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Expired)) failed(error as Error);
    } finally {
      informer.lost();
    }
    // Ends are normal after minutes, and harmless then. Early ends must not become a hot loop.
    failures = Date.now() - started > 10_000 ? 0 : failures + 1;
    const pause = Math.min(backoff(failures), longestPause);
    if (failures > 0) await sleep(pause, undefined, { signal }).catch(() => {});
  }
}

class Expired extends Error {}

type List = {
  kind: string;
  apiVersion: string;
  metadata: { resourceVersion: string };
  items: KubernetesObject[];
};

const only = ({ name }: Target) => `metadata.name=${name}`;

/**
 * The object, if there is one, and the version of which that is true: a plain read has none for
 * what is not there.
 */
export async function list(cluster: Cluster, target: Target) {
  const { collection } = target;
  const found = await cluster.get<List>(
    `${collection}?${new URLSearchParams({ fieldSelector: only(target) })}`,
  );
  if (found === undefined)
    throw new ApiError({ status: 404, reason: "NotFound", method: "LIST", path: collection });
  const [item] = found.items;
  // Items of a list do not say what they are; an object that is read or watched does.
  const kind = found.kind.replace(/List$/, "");
  const object = item && { ...item, kind, apiVersion: found.apiVersion };
  return { object, version: found.metadata.resourceVersion };
}

type WatchLine = { type: string; object: KubernetesObject & { code?: number } };

function readEvent(line: string): WatchLine & { version: string } {
  const { type, object } = JSON.parse(line) as WatchLine;
  const version = object.metadata?.resourceVersion;
  if (type === "ERROR" || version === undefined)
    throw new Expired(`watch ended with ${type} ${object.code ?? ""}`);
  return { type, object, version };
}
