/**
 * Joins a cluster: creates an account in the cluster, and stores the account's token in the host.
 * If a step fails, the error lists the objects that the join created but could not delete.
 */
import type { ClusterProfile } from "#api/cluster-profile.ts";
import { clusterManager, clustersNamespace, isAsMade } from "#contract/joined.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster, Replacing } from "#kube/client/cluster.ts";
import { requestToken, tokenSecret } from "#kube/token.ts";
import { pluginManager as manager } from "#kube/client/ownership.ts";
import { Refused, type ServerAddress } from "../terminal/io.ts";
import { untilGuarded } from "./guard-check.ts";
import { isMadeBy, refuseForeign, drop, titleOf } from "./departure.ts";
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
 * the cluster or join it again. If the join fails, deletes the objects that it created, keeps
 * objects that existed before, and reports objects that it cannot delete and rights that it has
 * changed. Returns the token's expiry.
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
  const named = asked.targets.length > 0;
  const earlier = () => grantedTargets(cluster, asked.adopts ? () => true : isMadeBy(joinedBy));
  // If this join names Secrets, we need the earlier Secrets only to report how to restore the
  // rights for them.
  const former = hasAccount || before ? await (named ? earlier().catch(noneRead) : earlier()) : [];
  const targets = named ? asked.targets : former.length > 0 ? former : usual;
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
    const { token, expires } = await requestToken(cluster);
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
    return expires;
  } catch (error) {
    const its = {
      name,
      joinedBy,
      written,
      targets,
      former: hasAccount ? former : undefined,
      here: before,
    };
    const leftovers = await undo(pair, its);
    throw new Refused(`${name}: ${(error as Error).message}; ${leftovers}`);
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

/** If we cannot read the earlier Roles, we continue as if there were no earlier Secrets. */
function noneRead(error: unknown): readonly Target[] {
  if (error instanceof ApiError) return [];
  throw error;
}

export type Pair = Readonly<{ host: Cluster; cluster: Replacing }>;

type Begun = Readonly<{
  name: string;
  joinedBy: string;
  /** The paths of the objects that the join has written, in this order. */
  written: readonly string[];
  /** The Secrets that the account's rights cover. */
  targets: readonly Target[];
  /**
   * The Secrets of the earlier join. Empty if we could not read them. Undefined if the account did
   * not exist before.
   */
  former: readonly Target[] | undefined;
  /** Whether the cluster was already joined before this join. */
  here: boolean;
}>;

/**
 * Removes the objects that this join has created, and returns a sentence about the objects that
 * remain. If the account existed before this join, removes nothing in the joined cluster, so this
 * join's changes stay there.
 */
async function undo({ host, cluster }: Pair, begun: Begun): Promise<string> {
  const { name, joinedBy, written, former, here } = begun;
  const remaining: string[] = former === undefined ? [] : [leftovers(begun, former)];
  for (const path of former === undefined ? written.toReversed() : []) {
    const gone = await drop(cluster, path, isMadeBy(joinedBy)).catch(() => false);
    if (!gone) remaining.push(`${titleOf(path)} there: delete it`);
  }
  try {
    const path = profilePath(name);
    const profile = here ? undefined : await host.get<Named>(path);
    // The token's Secret is deleted with the profile.
    if (profile !== undefined) await host.remove(path, profile.metadata?.uid ?? "");
  } catch {
    remaining.push(`clusterprofile/${name} here: delete it`);
  }
  if (here && former === undefined && written.length > 0)
    remaining.push("the objects of an earlier join still exist");
  if (remaining.length > 0) return remaining.join(", ");
  return written.length === 0 ? "nothing is changed" : "nothing of the join is left";
}

/**
 * A sentence that states whether the account still has its former rights and, if not, how to
 * restore them.
 */
function leftovers({ written, targets }: Begun, former: readonly Target[]): string {
  if (written.length === 0) return "nothing is changed there";
  const titles = (all: readonly Target[]) =>
    all.map(({ namespace, name }) => `${namespace}/${name}`).toSorted();
  // Only the Roles depend on the list of Secrets.
  const same = `${titles(former)}` === `${titles(targets)}`;
  if (same || !written.some((path) => path.includes("/roles/")))
    return "its rights there are for the same Secrets as before";
  const again = titles(former).map((title) => `--secret ${title}`);
  return (
    "its rights there are already changed; to restore the former rights, join again with " +
    (again.length > 0 ? again.join(" ") : "the former --secret")
  );
}
