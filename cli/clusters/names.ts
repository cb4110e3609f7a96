/** Names of clusters, and where their profiles are. */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import { Wrong } from "#contract/values.ts";
import { clustersNamespace } from "#contract/joined/names.ts";
import { clusterProfilesIn, secretsIn } from "#kube/client/paths.ts";

/** A DNS label: a cluster's name is its ClusterProfile's, its Secret's and its sealed file's. */
export const clusterName = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

export function cluster(text: string): string | Wrong {
  return clusterName.test(text) ? text : new Wrong("is no cluster's name; give one such as east");
}

export const profilePath = (name: string): string =>
  `${clusterProfilesIn(clustersNamespace)}/${name}`;

/** Where its token is kept. */
export const tokenPath = (name: string): string => `${secretsIn(clustersNamespace)}/${name}`;

export type Named = Readonly<{ metadata?: V1ObjectMeta }>;
