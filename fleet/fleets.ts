/** Serves all FleetSecrets of one namespace in one loop. */
import type { V1Namespace } from "@kubernetes/client-node";
import type { Logger } from "pino";
import type { ClusterStatus, FleetSecret } from "#api/fleet-secret.ts";
import { uidOf } from "#kube/client/ownership.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { followCollection, watchCollection } from "#kube/watch/collection.ts";
import type { Meters } from "#runtime/metrics.ts";
import { createLoop, isConflict, logFailures, sooner, warnOf, type Again } from "#runtime/loop.ts";
import { allClusters, clusterProfilesIn, fleetSecretsIn } from "#kube/client/paths.ts";
import { CollectionInformer } from "#kube/watch/informer.ts";
import { Fleet, pathOf, type FleetPlace } from "./fleet.ts";
import { needsClusters } from "./inventory/cluster-api.ts";
import { keepJoinedClusters } from "./joined-clusters.ts";
import { Source } from "./source.ts";

/** What a Fleet gets, except its source. */
type Place = Omit<FleetPlace, "source">;

type Options = Readonly<{
  home: Cluster;
  holds: () => boolean;
  log: Logger;
  meters: Meters;
  namespace: string;
  /**
   * Namespaces whose ClusterProfiles we watch. In these namespaces, we also update the
   * ClusterProfiles of joined clusters.
   */
  clusterNamespaces: readonly string[];
}>;

type Served = { fleet: Fleet; source: Source };

export function createFleets(options: Options) {
  const { home, holds, log, meters, namespace, clusterNamespaces } = options;
  const served = new Map<string, Served>();
  const gauge = meters.gauge("fleet_clusters", "clusters of each FleetSecret, by state", [
    "object",
    "state",
  ]);
  const objects = new CollectionInformer((object) => object as FleetSecret);
  let clusterId: string | undefined;
  /** Counts changes of namespaces, Clusters and ClusterProfiles. */
  let inventoryVersion = 0;
  const inventoryChanged = () => {
    inventoryVersion += 1;
    loop.hint();
  };
  /** Starts the watch of Cluster API's Clusters. Only FleetSecrets that select Clusters need it. */
  let watchClusters: (() => void) | undefined;

  async function run(): Promise<Again | undefined> {
    clusterId ??= (await home.get<V1Namespace>("/api/v1/namespaces/kube-system"))?.metadata?.uid;
    if (clusterId === undefined) throw new Error("the namespace kube-system has no uid");
    const { synced, items, failure } = objects.view;
    if (!synced) {
      if (failure !== undefined) throw failure;
      return undefined;
    }
    const all = [...items.values()];
    const place = {
      home,
      clusterId,
      holds,
      hint: loop.hint,
      log: log.warn.bind(log),
      inventoryVersion: () => inventoryVersion,
    };
    forget(new Set(all.map(uidOf)));
    if (all.some(({ spec: { clusterAPI } }) => needsClusters(clusterAPI))) watchClusters?.();
    const answers = await Promise.all(all.map((object) => serve(object, all, place)));
    count(all);
    return answers.reduce(sooner, undefined);
  }

  /** Serves one FleetSecret. If that fails, we still serve the others. */
  async function serve(object: FleetSecret, all: readonly FleetSecret[], place: Place) {
    try {
      return await fleetOf(object, place).run(object, all);
    } catch (error) {
      const conflict = isConflict(error);
      const name = pathOf(object.metadata);
      log[conflict ? "debug" : "error"](
        { object: name, error: (error as Error).message },
        "a FleetSecret could not be served; it will be retried",
      );
      return { seconds: conflict ? 0.5 : 5 };
    }
  }

  function fleetOf({ metadata, spec }: FleetSecret, place: Place): Fleet {
    const { uid = "" } = metadata;
    const existing = served.get(uid);
    if (existing !== undefined && existing.source.name === spec.secretRef.name)
      return existing.fleet;
    existing?.source.close();
    const source = new Source({
      home,
      namespace: metadata.namespace ?? "",
      name: spec.secretRef.name,
      hint: loop.hint,
      failed: warnOf(log, "a source cannot be watched"),
    });
    // An edit of the reference must not close the connections of the clusters.
    const fleet =
      existing?.fleet ??
      new Fleet({ ...place, source: () => served.get(uid)?.source.reading ?? "unknown" });
    served.set(uid, { fleet, source });
    return fleet;
  }

  function forget(uids: ReadonlySet<string>): void {
    for (const [uid, { fleet, source }] of served) {
      if (uids.has(uid)) continue;
      fleet.close();
      source.close();
      served.delete(uid);
    }
  }

  function count(all: readonly FleetSecret[]): void {
    const states: ClusterStatus["state"][] = [
      "Waiting",
      "Progressing",
      "Done",
      "Failed",
      "Unreachable",
      "Leaving",
    ];
    gauge.reset();
    for (const { metadata, status } of all)
      for (const state of states) {
        const its = (status?.clusters ?? []).filter((cluster) => cluster.state === state);
        gauge.set({ object: pathOf(metadata), state }, its.length);
      }
    for (const { metadata, status } of all)
      gauge.set({ object: pathOf(metadata), state: "GivenUp" }, status?.givenUp?.length ?? 0);
  }

  const loop = createLoop({
    run,
    failed: logFailures(log, "a run failed; it will be retried"),
  });

  return {
    silence: loop.silence,
    /** Serves until `signal` aborts. */
    async until(signal: AbortSignal): Promise<void> {
      const warnWatch = warnOf(log, "a watch failed");
      const failed = (error: Error) => (warnWatch(error), loop.hint());
      const path = fleetSecretsIn(namespace);
      const own = { cluster: home, query: {}, hint: loop.hint, failed, signal };
      const watched = { ...own, hint: inventoryChanged };
      const watches = [
        followCollection({ ...own, path, informer: objects }),
        watchCollection({ ...watched, path: "/api/v1/namespaces" }),
      ];
      watchClusters = () => {
        watches.push(watchCollection({ ...watched, path: allClusters }));
        watchClusters = undefined;
      };
      const keeper = keepJoinedClusters({ home, log, namespaces: clusterNamespaces });
      const both = () => (inventoryChanged(), keeper.hint());
      // If the CRD ClusterProfile is not installed, this watch fails. That is not an error.
      const none = (error: Error) => log.debug({ error: error.message }, "no ClusterProfiles");
      for (const profiles of clusterNamespaces.map(clusterProfilesIn))
        watches.push(watchCollection({ ...watched, path: profiles, hint: both, failed: none }));
      await Promise.all([loop.until(signal), keeper.until(signal)]);
      forget(new Set());
      await Promise.all(watches);
    },
  };
}
