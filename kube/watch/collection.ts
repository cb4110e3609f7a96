/** Follows a collection. Each of its changes is a hint: look again, and nothing more. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "#kube/client/cluster.ts";
import { backoff } from "#kube/client/retry.ts";
import { eventOf } from "./event.ts";

/**
 * Seconds of one watch: under the 300 s after which the client's HTTP library cuts off a silent
 * body.
 */
const watchSeconds = 240;

type Options = Readonly<{
  cluster: Cluster;
  path: string;
  query: Readonly<Record<string, string>>;
  hint: () => void;
  failed: (error: Error) => void;
  signal: AbortSignal;
}>;

/**
 * Hints once the collection has been listed, at each change, and after each watch that ended,
 * during which a change may have been missed. Never rejects; ends when `signal` aborts.
 */
export async function watchCollection(options: Options): Promise<void> {
  const { cluster, path, query, hint, failed, signal } = options;
  let failures = 0;
  while (!signal.aborted) {
    const started = performance.now();
    try {
      const from = new URLSearchParams({ ...query, limit: "1" });
      const page = await cluster.get<{ metadata: { resourceVersion: string } }>(`${path}?${from}`);
      if (page === undefined) throw new Error(`${path}: is not served`);
      hint();
      const asked = {
        ...query,
        resourceVersion: page.metadata.resourceVersion,
        allowWatchBookmarks: "true",
        timeoutSeconds: String(watchSeconds + Math.floor(Math.random() * 30)),
      };
      await cluster.stream(path, asked, signal, (line) => {
        const { type } = eventOf<{ type: string }>(line);
        if (type === "ERROR") throw new Error("the watch is too old");
        if (type !== "BOOKMARK") hint();
      });
    } catch (error) {
      if (signal.aborted) return;
      failed(error as Error);
    }
    failures = performance.now() - started > 10_000 ? 0 : failures + 1;
    if (failures > 0) await sleep(backoff(failures), undefined, { signal }).catch(() => {});
  }
}
