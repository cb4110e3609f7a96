/** The names of clusters and the namespace of their profiles. */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import { Wrong } from "#contract/values.ts";
import { clustersNamespace } from "#contract/joined.ts";
import { clusterProfilesIn, secretsIn } from "#kube/client/paths.ts";
import { additionalSecretName, globalSecretName } from "#contract/names.ts";

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
