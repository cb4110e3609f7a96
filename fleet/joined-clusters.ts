/** Keeps the ClusterProfiles of joined clusters up to date: conditions, version and token. */
import type { V1Secret } from "@kubernetes/client-node";
import type { Logger } from "pino";
import type { ClusterProfile, ClusterProfileStatus } from "#api/cluster-profile.ts";
import { clusterManager } from "#contract/joined.ts";
import { ApiError } from "#kube/client/api-error.ts";
import { uidOf } from "#kube/client/ownership.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { inLanes } from "#kube/lanes.ts";
import { createLoop, logFailures, warnOf, type Again } from "#runtime/loop.ts";
import { clusterProfilesIn, secretsIn } from "#kube/client/paths.ts";
import { fleetManager } from "./connection.ts";
import { readProfile } from "./inventory/cluster-profiles.ts";
import { isReported, isDue, statusOf } from "./joined-status.ts";
import { statusWriter, type StatusWriter } from "#runtime/status.ts";
import { JoinedCluster } from "./joined.ts";

type Options = Readonly<{
  home: Cluster;
  log: Logger;
  namespaces: readonly string[];
}>;

const secondsBetweenRounds = 30;

/**
 * How many clusters to check at the same time: 100 clusters that hang, each for 10 s, add 20 s to a
 * round. This number limits the answers in memory, but not the connections: after a fast round over
 * 1,000 clusters, nearly 1,000 connections are open, because each stays open for 4 s after its last
 * request.
 */
const lanes = 50;

/** A joined cluster, and the status of its profile. `gone` aborts when the profile is gone. */
type Kept = Readonly<{
  joined: JoinedCluster;
  gone: AbortController;
  status: StatusWriter<ClusterProfile, ClusterProfileStatus>;
}>;

export function keepJoinedClusters({ home, log, namespaces }: Options) {
  const clusters = new Map<string, Kept>();

  function newKept(): Kept {
    const gone = new AbortController();
    const status = statusWriter<ClusterProfile, ClusterProfileStatus>({
      cluster: home,
      path: ({ namespace = "", name }) => `${clusterProfilesIn(namespace)}/${name}`,
      manager: `${fleetManager}-status`,
      signal: gone.signal,
      isShown: isReported,
      failed: warnOf(log, "status could not be written; it will be retried"),
    });
    return { joined: new JoinedCluster(), gone, status };
  }

  async function run(): Promise<Again> {
    const all = (await Promise.all(namespaces.map(profilesIn))).flat();
    const uids = new Set(all.map(uidOf));
    for (const [uid, { gone }] of clusters) {
      if (uids.has(uid)) continue;
      gone.abort();
      clusters.delete(uid);
    }
    await inLanes(all, lanes, keep);
    return { seconds: secondsBetweenRounds };
  }

  /**
   * The profiles of joined clusters. Empty if ClusterProfiles do not exist or we are not allowed to
   * read them, because then no clusters are joined here.
   */
  async function profilesIn(namespace: string): Promise<ClusterProfile[]> {
    const profiles: ClusterProfile[] = [];
    try {
      await home.pages<ClusterProfile>(clusterProfilesIn(namespace), {}, (page) => {
        profiles.push(...page.filter(({ spec }) => spec.clusterManager.name === clusterManager));
      });
    } catch (error) {
      if (!(error instanceof ApiError) || ![403, 404].includes(error.status)) throw error;
      log.debug({ namespace, error: error.message }, "no ClusterProfiles to follow");
    }
    return profiles;
  }

  async function keep(profile: ClusterProfile): Promise<void> {
    const { namespace = "", name = "", uid = "" } = profile.metadata;
    const cluster = `${namespace}/${name}`;
    try {
      const kept = clusters.get(uid) ?? newKept();
      clusters.set(uid, kept);
      const { joined, status } = kept;
      const { read, secret: its } = await readProfile(home, profile);
      const observation = await joined.observe(read);
      const secret =
        its?.metadata?.name === name
          ? its
          : await home.get<V1Secret>(`${secretsIn(namespace)}/${name}`);
      status.write(profile, statusOf(profile, observation, new Date()));
      if (observation.kind !== "answers" || !isDue(secret, Date.now())) return;
      if (await joined.renew(home, profile, secret))
        log.info({ cluster }, "the token of a joined cluster was renewed");
    } catch (error) {
      log.warn(
        { cluster, error: (error as Error).message },
        "a joined cluster could not be updated",
      );
    }
  }

  return createLoop({
    run,
    failed: logFailures(log, "joined clusters could not be updated"),
  });
}
