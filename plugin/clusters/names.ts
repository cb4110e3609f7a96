/** The names of clusters and the namespace of their profiles. */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import { Wrong } from "#contract/values.ts";
import { clustersNamespace } from "#contract/joined.ts";
import { clusterProfilesIn, secretsIn } from "#kube/client/paths.ts";
import { additionalSecretName, globalSecretName } from "#contract/names.ts";

/** A DNS label, because the cluster's ClusterProfile, Secret and sealed file all have its name. */
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
 * NAMESPACE/NAME, except the names that FleetSecret's schema refuses. One of these is
 * global-pull-secret-joined-token, because tokens are bound to that Secret. A client that may
 * create that Secret again could request a token that outlives the join's token.
 */
export function target(value: string): Readonly<{ namespace: string; name: string }> | Wrong {
  const [, namespace = "", name = ""] = place.exec(value) ?? [];
  if (name === "" || name.length > 253)
    return new Wrong("is not NAMESPACE/NAME (example: kube-system/pull-secret)");
  return name === additionalSecretName || name.startsWith(globalSecretName)
    ? new Wrong("belongs to that cluster, so no FleetSecret may place it; give another")
    : { namespace, name };
}
