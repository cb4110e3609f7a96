/** Keeps the ClusterProfiles of joined clusters: conditions, version and token. */
import type { V1Secret } from "@kubernetes/client-node";
import type { Logger } from "pino";
import { clusterProfileVersion, type ClusterProfile } from "#api/cluster-profile.ts";
import { clusterManager } from "#contract/joined.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { inLanes } from "#kube/lanes.ts";
import { createLoop, type Again } from "#kube/loop.ts";
import { clusterProfilesIn, secretsIn } from "#kube/client/paths.ts";
import { fleetManager } from "../guest/connect.ts";
import { readProfile } from "../inventory/cluster-profiles.ts";
import { says, statusOf, ageOf } from "./conditions.ts";
import { Joined } from "./joined.ts";

type Options = Readonly<{
  /** The management cluster. */
  home: Cluster;
  log: Logger;
  namespaces: readonly string[];
}>;

/** Seconds from the end of a round to the next. */
const lookSeconds = 30;

/**
 * Clusters that are asked at the same time. One that hangs takes 10 s of a lane, so that a hundred
 * of them add 20 s to a round. Without a bound, 1,000 clusters are as many connections at once.
 */
const lanes = 50;

export function createKeeper({ home, log, namespaces }: Options) {
  const known = new Map<string, Joined>();

  async function run(): Promise<Again> {
    const all = (await Promise.all(namespaces.map(profilesIn))).flat();
    const there = new Set(all.map(uidOf));
    for (const uid of known.keys()) if (!there.has(uid)) known.delete(uid);
    await inLanes(all, lanes, keep);
    return { seconds: lookSeconds };
  }

  /** None where the inventory is not served, or not granted: nobody joins clusters here. */
  async function profilesIn(namespace: string): Promise<ClusterProfile[]> {
    const found: ClusterProfile[] = [];
    try {
      await home.pages<ClusterProfile>(clusterProfilesIn(namespace), {}, (page) => {
        found.push(...page.filter(({ spec }) => spec.clusterManager.name === clusterManager));
      });
    } catch (error) {
      if (!(error instanceof ApiError) || ![403, 404].includes(error.status)) throw error;
      log.debug({ namespace, error: error.message }, "there are no ClusterProfiles to follow");
    }
    return found;
  }

  async function keep(profile: ClusterProfile): Promise<void> {
    const { namespace = "", name = "", uid = "" } = profile.metadata;
    const cluster = `${namespace}/${name}`;
    try {
      const joined = known.get(uid) ?? new Joined();
      known.set(uid, joined);
      const { read, secret: its } = await readProfile(home, profile);
      const found = await joined.look(read);
      const secret =
        its?.metadata?.name === name
          ? its
          : await home.get<V1Secret>(`${secretsIn(namespace)}/${name}`);
      const age = ageOf(secret, Date.now());
      const status = statusOf(profile, found, age, new Date());
      if (!says(profile, status)) await write(profile, status);
      if (age !== "due" || found.kind !== "answers" || secret === undefined) return;
      await joined.renew(home, profile, secret);
      log.info({ cluster }, "the token of a joined cluster is renewed");
    } catch (error) {
      log.warn({ cluster, error: (error as Error).message }, "a joined cluster cannot be kept");
    }
  }

  async function write({ metadata }: ClusterProfile, status: object): Promise<void> {
    const { namespace = "", name = "", uid } = metadata;
    const body = {
      apiVersion: clusterProfileVersion,
      kind: "ClusterProfile",
      metadata: { name, uid },
      status,
    };
    const how = { manager: `${fleetManager}-status`, force: true };
    await home.apply(`${clusterProfilesIn(namespace)}/${name}/status`, body, how);
  }

  return createLoop({
    run,
    failed(error, failures) {
      log.error({ failures, error: (error as Error).message }, "joined clusters cannot be kept");
      return error instanceof ApiError ? error.retryAfterSeconds : undefined;
    },
  });
}

const uidOf = ({ metadata }: ClusterProfile): string => metadata.uid ?? "";
