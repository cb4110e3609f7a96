/**
 * Makes the host's FleetSecrets forget a cluster, before `fleet remove` deletes the cluster's
 * account and the placed Secrets.
 */
import { setTimeout as pause } from "node:timers/promises";
import { clusterProfileVersion, type ClusterProfile } from "#api/cluster-profile.ts";
import type { FleetSecret } from "#api/fleet-secret.ts";
import { clustersNamespace, leavingLabel } from "#contract/joined.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { pluginManager } from "#kube/client/ownership.ts";
import { allFleetSecrets } from "#kube/client/paths.ts";
import { profilePath } from "../clusters/profile.ts";

/**
 * Maximum milliseconds to wait for the fleet's controller. It usually needs about two seconds, but
 * might not run.
 */
const longest = 30_000;
/**
 * Milliseconds to wait if the caller is not allowed to list FleetSecrets, so that we cannot check
 * them.
 */
const blind = 5000;
const pauseMilliseconds = 500;

/** A field manager only for the label, so that an apply can remove the label and no other field. */
const how = { manager: `${pluginManager}-leaving`, force: true } as const;

/**
 * Marks the ClusterProfile as leaving, and waits until no FleetSecret lists the cluster. Without
 * this wait, the controller would repair the Secrets that the caller deletes next, or would count
 * the cluster as unreachable for an hour. Returns the FleetSecrets that still list the cluster
 * after 30 s. Undefined if the caller is not allowed to list FleetSecrets.
 */
export async function release(
  host: Cluster,
  { metadata }: ClusterProfile,
): Promise<readonly string[] | undefined> {
  const { name = "", uid = "" } = metadata;
  await host.apply(profilePath(name), bodyOf(name, uid, { [leavingLabel]: "true" }), how);
  const begun = performance.now();
  for (;;) {
    const listing = await listedBy(host, `${clustersNamespace}/${name}`);
    const wait = listing === undefined ? blind : longest;
    if (listing?.length === 0 || performance.now() - begun >= wait) return listing;
    await pause(pauseMilliseconds);
  }
}

/** Removes the mark of an interrupted removal, if there is one. */
export async function recall(host: Cluster, { metadata }: ClusterProfile): Promise<void> {
  const { name = "", uid = "", labels = {} } = metadata;
  if (!Object.hasOwn(labels, leavingLabel)) return;
  await host.apply(profilePath(name), bodyOf(name, uid, {}), how);
}

const bodyOf = (name: string, uid: string, labels: Readonly<Record<string, string>>) => ({
  apiVersion: clusterProfileVersion,
  kind: "ClusterProfile",
  metadata: { name, namespace: clustersNamespace, uid, labels },
});

/**
 * `NAMESPACE/NAME` of each FleetSecret whose status lists the cluster. Undefined if the caller is
 * not allowed to list FleetSecrets.
 */
async function listedBy(host: Cluster, cluster: string): Promise<readonly string[] | undefined> {
  const fleetSecrets: string[] = [];
  try {
    await host.pages<FleetSecret>(allFleetSecrets, {}, (page) => {
      for (const { metadata, status } of page)
        if (status?.clusters?.some(({ name }) => name === cluster) === true)
          fleetSecrets.push(`${metadata.namespace}/${metadata.name}`);
    });
  } catch (error) {
    const status = error instanceof ApiError ? error.status : undefined;
    if (status === 403) return undefined;
    // 404: the host does not serve FleetSecrets.
    if (status !== 404) throw error;
  }
  return fleetSecrets;
}
