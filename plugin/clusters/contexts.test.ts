import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterManager } from "#contract/joined.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { hostOf } from "../commands/clusters/flags.ts";
import type { Io, Reach } from "../terminal/io.ts";
import { routesTo } from "./contexts.ts";

const how = {
  kubeconfig: undefined,
  context: "host",
  "host-context": "host",
  "request-timeout": 1,
  as: undefined,
  cluster: "host-by-address",
  user: "host-admin",
} as const;

test("sends the credential of --user only to the cluster that the flags name", async () => {
  const reached: Reach[] = [];
  const profile = {
    metadata: { name: "east" },
    spec: { clusterManager: { name: clusterManager } },
  };
  const host = {
    pages: async (_path: string, _query: object, take: (page: readonly object[]) => void) =>
      take([profile]),
  } as unknown as Cluster;
  const io = {
    contexts: async () => ["east"],
    reach: async (one: Reach) => {
      reached.push(one);
      throw new Error("enough");
    },
  } as unknown as Io;
  for (const { reach } of await routesTo(host, [], how, io))
    await assert.rejects(reach(), /enough/);
  const seen = [...reached, hostOf(how)].map(({ context, cluster, user }) => [
    context,
    cluster,
    user,
  ]);
  assert.deepEqual(seen, [
    ["east", undefined, undefined],
    ["host", undefined, undefined],
  ]);
});
