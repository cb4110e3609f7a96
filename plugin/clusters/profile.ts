/** The objects of a joined cluster in the host: a ClusterProfile, and the Secret with its token. */
import type { V1Namespace, V1ObjectMeta } from "@kubernetes/client-node";
import { clusterProfileVersion, execExtension, type ClusterProfile } from "#api/cluster-profile.ts";
import {
  clusterIdAnnotation,
  clusterManager,
  clusterManagerLabel,
  clustersNamespace,
  contextAnnotation,
  joinedAtAnnotation,
  serverAnnotation,
  serverNameAnnotation,
  systemRootsAnnotation,
} from "#contract/joined.ts";
import { namespace, additionalSecretName, globalSecretName } from "#contract/names.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { clusterProfilesIn, secretsIn } from "#kube/client/paths.ts";
import { Refused, type ServerAddress } from "../terminal/io.ts";
import { Wrong } from "#contract/values.ts";

/** The flags of a cluster's join. We use them to print the command that joins the cluster again. */
export type JoinFlags = Readonly<{
  context: string;
  server?: string | undefined;
  "tls-server-name"?: string | undefined;
  "system-roots"?: boolean;
}>;

/**
 * The ClusterProfile without its status. `id`: uid of the cluster's namespace kube-system.
 * `joinedAt`: the end of a join; undefined at its start.
 */
export const profileOf = (
  name: string,
  id: string,
  { context, server, "tls-server-name": serverName, "system-roots": roots = false }: JoinFlags,
  joinedAt?: Date,
) => ({
  apiVersion: clusterProfileVersion,
  kind: "ClusterProfile",
  metadata: {
    name,
    namespace: clustersNamespace,
    labels: { [clusterManagerLabel]: clusterManager },
    annotations: {
      [clusterIdAnnotation]: id,
      [contextAnnotation]: context,
      ...(server === undefined ? {} : { [serverAnnotation]: server }),
      ...(serverName === undefined ? {} : { [serverNameAnnotation]: serverName }),
      ...(roots ? { [systemRootsAnnotation]: "true" } : {}),
      ...(joinedAt === undefined ? {} : { [joinedAtAnnotation]: joinedAt.toISOString() }),
    },
  },
  spec: { clusterManager: { name: clusterManager }, displayName: name },
});

/**
 * The part of the ClusterProfile's status that a join writes: the cluster's address, and how to
 * read its token.
 */
export const accessOf = (name: string, uid: string, place: ServerAddress) => ({
  apiVersion: clusterProfileVersion,
  kind: "ClusterProfile",
  metadata: { name, namespace: clustersNamespace, uid },
  status: { accessProviders: [{ name: "secretreader", cluster: withSecret(name, place) }] },
});

const withSecret = (name: string, place: ServerAddress) => ({
  ...place,
  extensions: [
    ...(place.extensions ?? []),
    { name: execExtension, extension: { clusterName: name } },
  ],
});

/** The joined clusters, by name. Throws Refused if the host does not serve ClusterProfiles. */
export async function joinedIn(host: Cluster): Promise<readonly ClusterProfile[]> {
  const profiles: ClusterProfile[] = [];
  try {
    await host.pages<ClusterProfile>(clusterProfilesIn(clustersNamespace), {}, (page) => {
      profiles.push(...page.filter(({ spec }) => spec.clusterManager.name === clusterManager));
    });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    throw new Refused(
      `clusterprofiles.${clusterProfileVersion.split("/")[0]}: not served by the host; apply the ` +
        "CRD of SIG Multicluster's cluster inventory, and manifests/fleet",
    );
  }
  return profiles.toSorted((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1));
}

export const idOf = ({ metadata }: ClusterProfile): string =>
  metadata.annotations?.[clusterIdAnnotation] ?? "";

/** UID of namespace kube-system, which identifies a cluster. */
export async function clusterId(cluster: Cluster): Promise<string> {
  const object = await cluster.get<V1Namespace>(`/api/v1/namespaces/${namespace}`);
  const uid = object?.metadata?.uid;
  if (uid === undefined) throw new Refused(`namespace/${namespace}: has no uid`);
  return uid;
}

/**
 * A cluster's name is a DNS label, because the cluster's ClusterProfile, Secret and sealed file
 * have this name.
 */
export const clusterName = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

export function cluster(text: string): string | Wrong {
  return clusterName.test(text) ? text : new Wrong("is not a valid cluster name (example: east)");
}

export const profilePath = (name: string): string =>
  `${clusterProfilesIn(clustersNamespace)}/${name}`;

/** The path of the Secret that contains the cluster's token. */
export const tokenPath = (name: string): string => `${secretsIn(clustersNamespace)}/${name}`;

export type Named = Readonly<{ metadata?: V1ObjectMeta }>;

/** `label` matches a DNS label. `place` matches a label and a DNS subdomain: NAMESPACE/NAME. */
const label = "[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?";
const place = new RegExp(`^(${label})/(${label}(?:\\.${label})*)$`);

/**
 * Reads NAMESPACE/NAME of a Secret. Refuses the names that FleetSecret's schema refuses. Among them
 * is global-pull-secret-joined-token, to which the account's tokens are bound: if the account could
 * create this Secret again, the account's tokens could stay valid after the cluster is removed.
 */
export function target(value: string): Readonly<{ namespace: string; name: string }> | Wrong {
  const [, namespace = "", name = ""] = place.exec(value) ?? [];
  if (name === "" || name.length > 253)
    return new Wrong("is not NAMESPACE/NAME (example: kube-system/pull-secret)");
  return name === additionalSecretName || name.startsWith(globalSecretName)
    ? new Wrong("belongs to that cluster, so no FleetSecret may place it; give another")
    : { namespace, name };
}
