/** Joins a cluster: an account there, its token here. Either all of it stands, or it is told. */
import type { ClusterProfile } from "#api/cluster-profile.ts";
import { clusterManager, clustersNamespace, isAsMade } from "#contract/joined.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { requestToken, tokenSecret } from "#kube/token.ts";
import { pluginManager as manager } from "#kube/client/ownership.ts";
import { Refused, type ServerAddress } from "../terminal/io.ts";
import { untilGuarded } from "./guard-check.ts";
import { isMadeBy } from "./departure.ts";
import { refuseForeign } from "./foreign.ts";
import { profilePath, tokenPath, type Named } from "../clusters/names.ts";
import {
  accessOf,
  clusterId,
  idOf,
  joinedIn,
  profileOf,
  type JoinFlags,
} from "../clusters/profile.ts";
import { grantedTargets, usual } from "./targets.ts";
import { guardsOf, rightsOf, type MadeGuard, type Target } from "./rights.ts";
import { undo, type Pair } from "./undo.ts";

type Asked = Readonly<{
  name: string;
  /** The kubeconfig's context that leads there, and what was given beside it. */
  flags: JoinFlags;
  place: ServerAddress;
  /** None: those of the earlier join, or the usual ones. */
  targets: readonly Target[];
  /** Takes over what another host's join has made there. */
  adopts: boolean;
  /** That cluster, as whoever has this token. */
  as: (token: string) => Promise<Cluster>;
}>;

const how = { manager, force: true } as const;

/**
 * Joins it, or joins it again: rights and token are renewed then. What a join that fails has made
 * is taken away, unless it was there before; what cannot be is told, and so are rights that it has
 * changed. The ClusterProfile is written first: a join that is killed anywhere is found by it, and
 * either removed or joined again. Returns when the token ends.
 */
export async function join(pair: Pair, asked: Asked): Promise<Date> {
  const { host, there } = pair;
  const { name, flags } = asked;
  const [hostId, id] = await Promise.all([clusterId(host), clusterId(there)]);
  const before = await refuseAnother(host, name, id);
  const joinedBy = `${hostId}/${name}`;
  const known = await refuseForeign(
    there,
    joinedBy,
    "a cluster is joined from one host: remove it from that one first, or take it over by --adopt",
    asked.adopts,
  );
  const named = asked.targets.length > 0;
  const earlier = () => grantedTargets(there, asked.adopts ? () => true : isMadeBy(joinedBy));
  // Where this join names its own, the earlier ones are asked for only to be told.
  const former = known || before ? await (named ? earlier().catch(noneRead) : earlier()) : [];
  const targets = named ? asked.targets : former.length > 0 ? former : usual;
  // The host is written first: a caller without that right then changes nothing in the cluster.
  const wanted = profileOf(name, id, flags);
  const { metadata } = await host.apply<ClusterProfile>(profilePath(name), wanted, how);
  const uid = metadata.uid ?? "";
  const made: string[] = [];
  try {
    for (const one of guardsOf(joinedBy)) {
      await placeGuard(there, one);
      made.push(one.path);
    }
    for (const { path, body } of rightsOf(targets, joinedBy)) {
      await there.apply(path, body, how);
      made.push(path);
    }
    const token = await requestToken(there);
    await untilGuarded(await asked.as(token.token), targets);
    const { metadata: times, ...secret } = tokenSecret(token);
    const ownerReferences = [
      { apiVersion: wanted.apiVersion, kind: wanted.kind, name, uid, blockOwnerDeletion: false },
    ];
    const body = { ...secret, metadata: { ...times, name, ownerReferences } };
    await host.apply(tokenPath(name), body, how);
    const access = accessOf(name, uid, asked.place);
    await host.apply(`${profilePath(name)}/status`, access, how);
    await host.apply(profilePath(name), profileOf(name, id, flags, token.issued), how);
    return token.expires;
  } catch (error) {
    const its = { name, joinedBy, made, targets, former: known ? former : undefined, here: before };
    const stands = await undo(pair, its);
    throw new Refused(`${name}: ${(error as Error).message}; ${stands}`);
  }
}

/**
 * One object of a guard, in the cluster that is joined. It is replaced if an apply leaves what
 * others added to it, such as a selector that switches it off.
 */
async function placeGuard(there: Cluster, { path, body }: MadeGuard): Promise<void> {
  try {
    const { metadata, spec } = await there.apply<Stored>(path, body, how);
    if (isAsMade(spec, body.spec)) return;
    const { resourceVersion } = metadata;
    await there.replace(path, { ...body, metadata: { ...body.metadata, resourceVersion } });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    throw new Refused(
      "its API server has no ValidatingAdmissionPolicies, without which the account could make " +
        "itself other accounts' tokens; join a cluster of Kubernetes 1.30 or newer",
    );
  }
}

type Stored = Readonly<{ metadata: Readonly<{ resourceVersion?: string }>; spec?: unknown }>;

/** Whether it is joined already; refused where that name or that cluster is another's. */
async function refuseAnother(host: Cluster, name: string, id: string): Promise<boolean> {
  if ((await host.get<Named>(`/api/v1/namespaces/${clustersNamespace}`)) === undefined)
    throw new Refused(
      `namespace/${clustersNamespace}: not found in the host; apply manifests/fleet`,
    );
  const joined = await joinedIn(host);
  const there = await host.get<ClusterProfile>(profilePath(name));
  if (there !== undefined && there.spec.clusterManager.name !== clusterManager)
    throw new Refused(`${name}: is a ClusterProfile of another manager; give another name`);
  if (there !== undefined && idOf(there) !== id)
    throw new Refused(
      `${name}: is another cluster than this context leads to; give another name, or ` +
        `kubectl pull-secret clusters remove ${name}`,
    );
  const twice = joined.find((one) => idOf(one) === id && one.metadata.name !== name);
  if (twice !== undefined)
    throw new Refused(`${name}: this cluster is joined already, as ${twice.metadata.name}`);
  return there !== undefined;
}

/** No Secrets, where the API server does not say which they are. */
function noneRead(error: unknown): readonly Target[] {
  if (error instanceof ApiError) return [];
  throw error;
}
