/**
 * The caller's own connection to a joined cluster. It uses a context of the caller's kubeconfig,
 * never the token.
 */
import type { ClusterProfile } from "#api/cluster-profile.ts";
import { contextAnnotation } from "#contract/joined.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { Misuse, Refused, type Io, type Reach } from "../terminal/io.ts";
import { clusterId, idOf, joinedIn } from "./profile.ts";

/**
 * A joined cluster, reached through the caller's own connection. `reach` checks that the context
 * leads to this cluster.
 */
export type Route = Readonly<{ name: string; context: string; reach: () => Promise<Cluster> }>;

/**
 * The connections to the named joined clusters, or to all of them if none is named. Uses the
 * context with the cluster's name. If the kubeconfig has no such context, it uses the context of
 * the join. Throws Misuse if a joined cluster of this name does not exist.
 */
export async function routesTo(
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
    .map((profile) => routeTo(profile, contexts, how, io));
}

function routeTo(
  profile: ClusterProfile,
  contexts: ReadonlySet<string>,
  how: Reach,
  io: Io,
): Route {
  const name = profile.metadata.name ?? "";
  const asJoined = profile.metadata.annotations?.[contextAnnotation] ?? name;
  const context = contexts.has(name) ? name : asJoined;
  // The flags name the cluster and the user of the host. Another cluster must not get that user's
  // credential.
  const reach = async (): Promise<Cluster> => {
    if (!contexts.has(context))
      throw new Refused(
        `your kubeconfig has no context ${name}, nor ${asJoined}; ` +
          "rename one to the cluster's name with kubectl config rename-context",
      );
    const cluster = await io.reach({ ...how, context, cluster: undefined, user: undefined });
    await refuseOther(cluster, profile, context);
    return cluster;
  };
  return { name, context, reach };
}

/**
 * A context may have been renamed and lead to another cluster, so we identify the cluster before we
 * write.
 */
export async function refuseOther(
  cluster: Cluster,
  profile: ClusterProfile,
  context: string,
): Promise<void> {
  if ((await clusterId(cluster)) === idOf(profile)) return;
  throw new Refused(`the context ${context} leads to another cluster than the joined one`);
}
