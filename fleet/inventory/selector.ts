/** Kubernetes' label selectors, and the version in which Cluster API is served. */
import type { NamespaceSelector } from "#api/fleet-secret.ts";
import type { Cluster } from "#kube/client/cluster.ts";

/** A selector as the query parameter of a list. An empty selector selects everything. Pure. */
export function queryOf({ matchLabels = {}, matchExpressions = [] }: NamespaceSelector = {}) {
  const terms = [
    ...Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`),
    ...matchExpressions.map(({ key, operator, values = [] }) => {
      switch (operator) {
        case "In":
          return `${key} in (${values.join(",")})`;
        case "NotIn":
          return `${key} notin (${values.join(",")})`;
        case "Exists":
          return key;
        case "DoesNotExist":
          return `!${key}`;
      }
    }),
  ];
  const query: Record<string, string> = terms.length === 0 ? {} : { labelSelector: terms.join() };
  return query;
}

export type ClusterAPIVersion = "v1beta2" | "v1beta1";

/** v1beta1 if Cluster API serves only that version (before 1.11), otherwise v1beta2. */
export async function servedVersion(home: Cluster, group: string): Promise<ClusterAPIVersion> {
  const apiGroup = await home.get<{ versions?: readonly { version: string }[] }>(`/apis/${group}`);
  const served = new Set(apiGroup?.versions?.map(({ version }) => version));
  return served.has("v1beta1") && !served.has("v1beta2") ? "v1beta1" : "v1beta2";
}
