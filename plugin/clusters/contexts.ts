/**
 * The caller's own connection to a joined cluster. It uses a context of the caller's kubeconfig,
 * never the token that the join stored.
 */
import type { ClusterProfile } from "#api/cluster-profile.ts";
import { contextAnnotation } from "#contract/joined.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { Misuse, Refused, type ClusterIo, type Reach } from "../terminal/io.ts";
import { clusterId, idOf, joinedIn } from "./profile.ts";

/**
 * A joined cluster and the caller's own connection to it. `reach` checks that the context leads to
 * this cluster.
 */
export type Route = Readonly<{ name: string; context: string; reach: () => Promise<Cluster> }>;

/**
 * The connections to the joined clusters in `names`, or to all joined clusters if `names` is empty.
 * Uses the context with the cluster's name. If the kubeconfig has no such context, uses the context
 * of the join. Throws Misuse if `names` contains a cluster that is not joined.
 */
export async function routesTo(
  host: Cluster,
  names: readonly string[],
  how: Reach,
  io: ClusterIo,
): Promise<readonly Route[]> {
  const joined = await joinedIn(host);
  const joinedNames = joined.map(({ metadata }) => metadata.name ?? "");
  const unknown = names.filter((name) => !joinedNames.includes(name));
  if (unknown.length > 0)
    throw new Misuse(`${unknown.join(", ")}: not joined; give ${joinedNames.join(", ") || "none"}`);
  const contexts = new Set(await io.contexts(how.kubeconfig));
  return joined
    .filter(({ metadata }) => names.length === 0 || names.includes(metadata.name ?? ""))
    .map((profile) => routeTo(profile, contexts, how, io));
}

function routeTo(
  profile: ClusterProfile,
  contexts: ReadonlySet<string>,
  how: Reach,
  io: ClusterIo,
): Route {
  const name = profile.metadata.name ?? "";
  const asJoined = profile.metadata.annotations?.[contextAnnotation] ?? name;
  const context = contexts.has(name) ? name : asJoined;
  const reach = async (): Promise<Cluster> => {
    if (!contexts.has(context))
      throw new Refused(
        `your kubeconfig has no context ${name}, nor ${asJoined}; ` +
          "rename one to the cluster's name with kubectl config rename-context",
      );
    const cluster = await io.reach({ ...how, context });
    await refuseOther(cluster, profile, context);
    return cluster;
  };
  return { name, context, reach };
}

/**
 * Throws Refused if the context does not lead to the joined cluster, for example because the user
 * has renamed contexts.
 */
export async function refuseOther(
  cluster: Cluster,
  profile: ClusterProfile,
  context: string,
): Promise<void> {
  if ((await clusterId(cluster)) === idOf(profile)) return;
  throw new Refused(`the context ${context} leads to another cluster than the joined one`);
}
