/** Joins a cluster: creates an account in the cluster, and stores its token in the host. */
import type { ClusterProfile } from "#api/cluster-profile.ts";
import { clusterManager, clustersNamespace, isAsMade } from "#contract/joined.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster, Replacing } from "#kube/client/cluster.ts";
import { requestToken, timesIn, tokenSecret } from "#kube/token.ts";
import { pluginManager as manager } from "#kube/client/ownership.ts";
import { Refused, type ServerAddress } from "../terminal/io.ts";
import { untilGuarded } from "./guard-check.ts";
import { isMadeBy, refuseForeign, drop } from "./departure.ts";
import {
  profilePath,
  tokenPath,
  type Named,
  accessOf,
  clusterId,
  idOf,
  joinedIn,
  profileOf,
  type JoinFlags,
} from "../clusters/profile.ts";
import {
  grantedTargets,
  usual,
  guardsOf,
  rightsOf,
  type MadeGuard,
  type Target,
} from "./rights.ts";
import { recall } from "./release.ts";

type Asked = Readonly<{
  name: string;
  /** The kubeconfig's context of the cluster, and the flags that were given with it. */
  flags: JoinFlags;
  place: ServerAddress;
  /**
   * The Secrets that the account is allowed to write. If empty: the Secrets of the earlier join or,
   * without an earlier join, the default Secrets.
   */
  targets: readonly Target[];
  /** Whether the join takes over objects that another host created in this cluster. */
  adopts: boolean;
  /** Connects to this cluster with the token as the credential. */
  as: (token: string) => Promise<Cluster>;
}>;

const how = { manager, force: true } as const;

/**
 * Joins the cluster. If the cluster is joined already, renews its rights and token. Writes the
 * ClusterProfile first, so that `fleet list` shows an interrupted join, and the user can remove
 * the cluster or join it again. If a first join fails, deletes the objects that it created. Returns
 * the token's expiry.
 */
export async function join(pair: Pair, asked: Asked): Promise<Date> {
  const { host, cluster } = pair;
  const { name, flags } = asked;
  const [hostId, id] = await Promise.all([clusterId(host), clusterId(cluster)]);
  const before = await refuseAnother(host, name, id);
  const joinedBy = `${hostId}/${name}`;
  const hasAccount = await refuseForeign(
    cluster,
    joinedBy,
    "a cluster has one host: remove it from the other host first, or take it over with --adopt",
    asked.adopts,
  );
  const isRepeated = hasAccount || before;
  const named = asked.targets;
  const former =
    isRepeated && named.length === 0
      ? await grantedTargets(cluster, asked.adopts ? () => true : isMadeBy(joinedBy))
      : [];
  const targets = [named, former].find(({ length }) => length > 0) ?? usual;
  // We write to the host first. If the caller is not allowed to write there, nothing has changed in
  // the cluster.
  const desiredProfile = profileOf(name, id, flags);
  const profile = await host.apply<ClusterProfile>(profilePath(name), desiredProfile, how);
  await recall(host, profile);
  const uid = profile.metadata.uid ?? "";
  const written: string[] = [];
  try {
    for (const guard of guardsOf(joinedBy)) {
      await placeGuard(cluster, guard);
      written.push(guard.path);
    }
    for (const { path, body } of rightsOf(targets, joinedBy)) {
      await cluster.apply(path, body, how);
      written.push(path);
    }
    const token = await requestToken(cluster);
    await untilGuarded(await asked.as(token), targets);
    const ownerReferences = [
      {
        apiVersion: desiredProfile.apiVersion,
        kind: desiredProfile.kind,
        name,
        uid,
        blockOwnerDeletion: false,
      },
    ];
    const body = { ...tokenSecret(token), metadata: { name, ownerReferences } };
    await host.apply(tokenPath(name), body, how);
    const access = accessOf(name, uid, asked.place);
    await host.apply(`${profilePath(name)}/status`, access, how);
    await host.apply(profilePath(name), profileOf(name, id, flags, new Date()), how);
    return new Date(timesIn(token).expires);
  } catch (error) {
    const isUndone = !isRepeated && (await undo(pair, name, joinedBy, written));
    // After a repeated join, the cluster may still work with its earlier token.
    const retry = isRepeated ? "" : `, or kubectl pull-secret fleet remove ${name}`;
    const next = isUndone ? "nothing of the join is left" : `join again${retry}`;
    throw new Refused(`${name}: ${(error as Error).message}; ${next}`);
  }
}

/**
 * Writes one object of a guard to the joined cluster. An apply does not remove fields that others
 * added, such as a selector that switches the guard off. If there are such fields, we replace the
 * object.
 */
async function placeGuard(cluster: Replacing, { path, body }: MadeGuard): Promise<void> {
  try {
    const { metadata, spec } = await cluster.apply<Stored>(path, body, how);
    if (isAsMade(spec, body.spec)) return;
    const { resourceVersion } = metadata;
    await cluster.replace(path, { ...body, metadata: { ...body.metadata, resourceVersion } });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    throw new Refused(
      "its API server has no ValidatingAdmissionPolicies; without them the account could " +
        "create tokens of other accounts. Join a cluster of Kubernetes 1.30 or newer",
    );
  }
}

type Stored = Readonly<{ metadata: Readonly<{ resourceVersion?: string }>; spec?: unknown }>;

/**
 * Whether the cluster is joined already. Throws Refused if the name or the cluster belongs to
 * another join.
 */
async function refuseAnother(host: Cluster, name: string, id: string): Promise<boolean> {
  if ((await host.get<Named>(`/api/v1/namespaces/${clustersNamespace}`)) === undefined)
    throw new Refused(
      `namespace/${clustersNamespace}: not found in the host; apply manifests/fleet`,
    );
  const joined = await joinedIn(host);
  const existing = await host.get<ClusterProfile>(profilePath(name));
  if (existing !== undefined && existing.spec.clusterManager.name !== clusterManager)
    throw new Refused(`${name}: is a ClusterProfile of another manager; give another name`);
  if (existing !== undefined && idOf(existing) !== id)
    throw new Refused(
      `${name}: is the name of a different cluster; give another name, or ` +
        `kubectl pull-secret fleet remove ${name}`,
    );
  const twice = joined.find((profile) => idOf(profile) === id && profile.metadata.name !== name);
  if (twice !== undefined)
    throw new Refused(`${name}: this cluster is joined already, as ${twice.metadata.name}`);
  return existing !== undefined;
}

export type Pair = Readonly<{ host: Cluster; cluster: Replacing }>;

/**
 * Removes the objects that a first join has written, and its ClusterProfile, with which the token's
 * Secret is deleted. Returns false if it could not remove one of them. The ClusterProfile then
 * stays, so that `fleet remove` finds the cluster.
 */
async function undo(
  { host, cluster }: Pair,
  name: string,
  joinedBy: string,
  written: readonly string[],
): Promise<boolean> {
  try {
    for (const path of written.toReversed()) await drop(cluster, path, isMadeBy(joinedBy));
    const profile = await host.get<Named>(profilePath(name));
    await host.remove(profilePath(name), profile?.metadata?.uid ?? "");
    return true;
  } catch {
    return false;
  }
}
