/**
 * Many clusters without a real API server: the management cluster is in memory, and one server
 * simulates all other clusters, over HTTP/2 and TLS. This measures the controller's own work.
 */
import { Buffer } from "node:buffer";
import { pino } from "pino";
import { clusterManager, clustersNamespace } from "#contract/joined.ts";
import type { ClusterProfile } from "#api/cluster-profile.ts";
import { conditionOf } from "#kube/conditions.ts";
import { keepJoinedClusters } from "#fleet/joined-clusters.ts";
import { clusterProfilesIn, secretsIn } from "#kube/client/paths.ts";
import { until } from "#test/cluster/await.ts";
import { FakeApi } from "#test/harness/api/api.ts";
import { directly } from "#test/harness/api/direct.ts";
import { FakeServer } from "#test/harness/api/server.ts";
import { startAilingFleet } from "#test/story/ailing-fleet.ts";
import type { Measurement } from "../result/bench.ts";
import { measure } from "../result/result.ts";

/**
 * Measures the time until 90 of 100 clusters have the Secret, with the default rollout. The other
 * ten are broken in ten ways.
 */
export const ailing: Measurement = {
  name: "ailing",
  run: async ({ quick }) => {
    const served = async (data?: object) => {
      await using fleet = await startAilingFleet(data);
      return (await fleet.untilServed()) / 1000;
    };
    const small: number[] = [];
    for (let round = 0; round < (quick ? 1 : 3); round++) small.push(await served());
    const large = await served({ a: Buffer.alloc(largest).toString("base64") });
    const name = "100 clusters, 10 broken in 10 ways, until the other 90 have";
    return [
      measure({ name: `${name} it`, unit: "s", atMost: 20 }, small),
      measure({ name: `${name} a Secret of 900 KiB`, unit: "s", atMost: 60 }, [large]),
    ];
  },
};

/** Bytes of a large Secret. With base64, 1 MiB is the API server's limit for the data. */
const largest = 900 * 1024;

const count = 1000;

const definition = `spec:
  group: multicluster.x-k8s.io
  names: { plural: clusterprofiles, kind: ClusterProfile }
  versions: [{ name: v1alpha1, subresources: { status: {} } }]
`;

type Way = Readonly<{ clusters: readonly Readonly<{ cluster: object }>[] }>;

/** Measures how long the controller's first round over a thousand joined clusters takes. */
export const joinedClusters: Measurement = {
  name: "joined",
  async run() {
    await using fakes = await FakeServer.start();
    const api = new FakeApi();
    api.store.define(definition);
    const home = directly(api, "global-pull-secret-fleet");
    const names = Array.from({ length: count }, (_, at) => `c${at}`);
    for (const name of names) {
      const metadata = { name, namespace: clustersNamespace };
      const { cluster } = (JSON.parse(fakes.kubeconfig(name)) as Way).clusters[0] ?? {};
      await home.create(clusterProfilesIn(clustersNamespace), {
        apiVersion: "multicluster.x-k8s.io/v1alpha1",
        kind: "ClusterProfile",
        metadata,
        spec: { clusterManager: { name: clusterManager } },
        status: { accessProviders: [{ name: "secretreader", cluster }] },
      });
      const status = { accessProviders: [{ name: "secretreader", cluster }] };
      const path = `${clusterProfilesIn(clustersNamespace)}/${name}/status`;
      const how = { manager: "join", force: true };
      await home.apply(path, { kind: "ClusterProfile", metadata: { name }, status }, how);
      await home.create(secretsIn(clustersNamespace), {
        apiVersion: "v1",
        kind: "Secret",
        metadata,
        data: { token: Buffer.from("fake").toString("base64") },
      });
    }
    api.asked.length = 0;
    const begun = performance.now();
    const keeper = keepJoinedClusters({
      home,
      log: pino({ level: "silent" }),
      namespaces: [clustersNamespace],
    });
    const stop = new AbortController();
    const ended = keeper.until(stop.signal);
    // The controller writes each cluster's conditions once.
    const patches = () => api.asked.filter(({ verb }) => verb === "patch").length;
    await until("every cluster is reported", () => patches() >= count, {
      timeout: 120_000,
      seen: async () => `${patches()}`,
    });
    const seconds = (performance.now() - begun) / 1000;
    // Fails if a cluster was not reached: the controller reports such a cluster faster, and the
    // round would look too fast.
    const away: string[] = [];
    await home.pages<ClusterProfile>(clusterProfilesIn(clustersNamespace), {}, (page) => {
      for (const { status } of page) {
        const { status: is, message = "" } = conditionOf(status, "ControlPlaneHealthy") ?? {};
        if (is !== "True" && is !== "False") away.push(message);
      }
    });
    if (away.length > 0) throw new Error(`${away.length} were not reached: ${away[0]}`);
    stop.abort();
    await ended;
    return [
      measure({ name: `${count} joined clusters, first round`, unit: "s", atMost: 30 }, [seconds]),
    ];
  },
};
