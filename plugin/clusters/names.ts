/** Names of clusters, and where their profiles are. */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import { Wrong } from "#contract/values.ts";
import { clustersNamespace } from "#contract/joined.ts";
import { clusterProfilesIn, secretsIn } from "#kube/client/paths.ts";
import { additionalSecretName, globalSecretName } from "#contract/names.ts";

/** A DNS label: a cluster's name is its ClusterProfile's, its Secret's and its sealed file's. */
export const clusterName = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

export function cluster(text: string): string | Wrong {
  return clusterName.test(text) ? text : new Wrong("is not a valid cluster name (example: east)");
}

export const profilePath = (name: string): string =>
  `${clusterProfilesIn(clustersNamespace)}/${name}`;

/** Where its token is kept. */
export const tokenPath = (name: string): string => `${secretsIn(clustersNamespace)}/${name}`;

export type Named = Readonly<{ metadata?: V1ObjectMeta }>;

/** A DNS label, and a DNS subdomain. */
const label = "[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?";
const place = new RegExp(`^(${label})/(${label}(?:\\.${label})*)$`);

/**
 * NAMESPACE/NAME; none that FleetSecret's schema refuses. global-pull-secret-joined-token is among
 * those: a token is bound to it, and whoever may make it anew could ask for one that outlives the
 * join's.
 */
export function target(value: string): Readonly<{ namespace: string; name: string }> | Wrong {
  const [, namespace = "", name = ""] = place.exec(value) ?? [];
  if (name === "" || name.length > 253)
    return new Wrong("is not NAMESPACE/NAME (example: kube-system/pull-secret)");
  return name === additionalSecretName || name.startsWith(globalSecretName)
    ? new Wrong("belongs to that cluster, and no FleetSecret may bring it; name another")
    : { namespace, name };
}
