import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { pino } from "pino";
import { clusterProfileVersion, type ClusterProfile } from "#api/cluster-profile.ts";
import { clusterManager } from "#contract/joined.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { keepJoinedClusters } from "./joined-clusters.ts";

test("reads the credentials of 1,000 joined clusters, at most 50 at the same time", async () => {
  const profiles = Array.from({ length: 1000 }, (_, at) => ({
    apiVersion: clusterProfileVersion,
    kind: "ClusterProfile",
    metadata: { name: `c${at}`, namespace: "clusters", uid: String(at) },
    spec: { clusterManager: { name: clusterManager } },
  })) satisfies ClusterProfile[];
  const stop = new AbortController();
  const writtenPaths = new Set<string>();
  let [open, most] = [0, 0];
  const home = {
    pages: async (_path: string, _query: object, each: (page: readonly object[]) => void) =>
      each(profiles),
    async get() {
      most = Math.max(most, (open += 1));
      // Gives all reads that can run in parallel the time to start.
      await setImmediate();
      open -= 1;
    },
    async apply(path: string) {
      writtenPaths.add(path);
      if (writtenPaths.size === profiles.length) stop.abort();
    },
  } as unknown as Cluster;
  const log = pino({ level: "silent" });
  await keepJoinedClusters({ home, log, namespaces: ["clusters"] }).until(stop.signal);
  assert.deepEqual([writtenPaths.size, most, open], [1000, 50, 0]);
});
