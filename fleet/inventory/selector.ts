/** Kubernetes' label selectors. Pure. */
import type { NamespaceSelector } from "#api/fleet-secret.ts";

/** A selector as the query parameter of a list. An empty selector selects everything. */
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
