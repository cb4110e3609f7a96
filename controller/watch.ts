/**
 * Hints that one object changed. A hint says "look again" and nothing more: what is there is read afterwards, so a lost
 * or doubled event costs nothing but time. Whatever ends a watch, it starts again; after an error it lists first.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "./apierror.ts";
import type { Cluster } from "./kube.ts";
import { backoff } from "./loop.ts";

/** A collection and the one object in it that is followed: rights may then be limited to that name. */
export type Target = Readonly<{ collection: string; name: string }>;

/** Under the 300 s after which the client's HTTP library cuts a body that is silent. */
const watchSeconds = 240;

type Options = Readonly<{
  cluster: Cluster;
  target: Target;
  /** Must only note that something happened. */
  hint: () => void;
  /** Told why a watch ended, for the log. */
  failed: (error: Error) => void;
  signal: AbortSignal;
}>;

/** Follows the object until `signal` aborts. Never rejects. */
export async function follow({ cluster, target, hint, failed, signal }: Options): Promise<void> {
  const query = { fieldSelector: `metadata.name=${target.name}` };
  let version: string | undefined;
  let failures = 0;
  while (!signal.aborted) {
    const started = Date.now();
    try {
      if (version === undefined) {
        version = await listVersion(cluster, target.collection, query);
        hint();
      }
      const timeoutSeconds = String(watchSeconds + Math.floor(Math.random() * 30));
      const asked = { ...query, resourceVersion: version, allowWatchBookmarks: "true", timeoutSeconds };
      await cluster.stream(target.collection, asked, signal, (line) => {
        const event = readEvent(line);
        version = event.version;
        if (event.type !== "BOOKMARK") hint();
      });
    } catch (error) {
      if (signal.aborted) return;
      // Only the API server knows why the version is of no use any more (410, ERROR event): a list always is.
      version = undefined;
      if (!(error instanceof Expired)) failed(error as Error);
    }
    // Ends are normal after minutes, and harmless then. Early ends must not become a hot loop.
    failures = Date.now() - started > 10_000 ? 0 : failures + 1;
    if (failures > 0) await sleep(backoff(failures), undefined, { signal }).catch(() => {});
  }
}

class Expired extends Error {}

async function listVersion(cluster: Cluster, collection: string, query: Record<string, string>): Promise<string> {
  const parameters = new URLSearchParams(query);
  const list = await cluster.get<{ metadata: { resourceVersion: string } }>(`${collection}?${parameters}`);
  if (list === undefined) throw new ApiError({ status: 404, reason: "NotFound", method: "LIST", path: collection });
  return list.metadata.resourceVersion;
}

type WatchLine = { type: string; object: { code?: number; metadata?: { resourceVersion?: string } } };

function readEvent(line: string): { type: string; version: string } {
  const { type, object } = JSON.parse(line) as WatchLine;
  const version = object.metadata?.resourceVersion;
  if (type === "ERROR" || version === undefined) throw new Expired(`watch ended with ${type} ${object.code ?? ""}`);
  return { type, version };
}
