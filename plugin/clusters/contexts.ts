/** The caller's own way to a joined cluster: a context of their kubeconfig, never the token. */
import type { ClusterProfile } from "#api/cluster-profile.ts";
import { contextAnnotation } from "#contract/joined.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { Misuse, Refused, type Io, type Reach } from "../terminal/io.ts";
import { clusterId, idOf, joinedIn } from "./profile.ts";

/** A cluster as the caller reaches it; `reach` proves that it is that one. */
export type Route = Readonly<{ name: string; context: string; reach: () => Promise<Cluster> }>;

/**
 * The ways to joined clusters, all of them where none is named. A context is taken that has the
 * cluster's name, else the one that it was joined with. Throws Misuse for a name that none has.
 */
export async function waysTo(
  host: Cluster,
  names: readonly string[],
  how: Reach,
  io: Io,
): Promise<readonly Route[]> {
  const joined = await joinedIn(host);
  const known = joined.map(({ metadata }) => metadata.name ?? "");
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new Misuse(`${unknown.join(", ")}: not joined; give ${known.join(", ") || "none"}`);
  const contexts = new Set(await io.contexts(how.kubeconfig));
  return joined
    .filter(({ metadata }) => names.length === 0 || names.includes(metadata.name ?? ""))
    .map((profile) => wayTo(profile, contexts, how, io));
}

function wayTo(profile: ClusterProfile, contexts: ReadonlySet<string>, how: Reach, io: Io): Route {
  const name = profile.metadata.name ?? "";
  const asJoined = profile.metadata.annotations?.[contextAnnotation] ?? name;
  const context = contexts.has(name) ? name : asJoined;
  // Flags name the host's cluster and user. Another cluster must not get that user's credential.
  const reach = async (): Promise<Cluster> => {
    if (!contexts.has(context))
      throw new Refused(
        `your kubeconfig has no context ${name}, nor ${asJoined}; ` +
          "kubectl config rename-context gives one the cluster's name",
      );
    const cluster = await io.reach({ ...how, context, cluster: undefined, user: undefined });
    await refuseOther(cluster, profile, context);
    return cluster;
  };
  return { name, context, reach };
}

/** Contexts are renamed, and lead elsewhere: nothing is written before the cluster is known. */
export async function refuseOther(
  cluster: Cluster,
  profile: ClusterProfile,
  context: string,
): Promise<void> {
  if ((await clusterId(cluster)) === idOf(profile)) return;
  throw new Refused(`the context ${context} leads to another cluster than was joined by this name`);
}
