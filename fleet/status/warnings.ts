/** What an object asks for that not everybody means: said in status while it does. Pure. */
import type { FleetSecretSpec } from "#api/fleet-secret.ts";
import { sentence } from "../secret/problems.ts";

export type Warning = Readonly<{ reason: string; message: string }>;

export function warningsOf({ clusterAPI, via }: FleetSecretSpec): readonly Warning[] {
  const every = clusterAPI !== undefined && clusterAPI.namespaceSelector.matchLabels === undefined;
  return [
    ...(every ? [{ reason: "EveryNamespace", message: sentence("everyNamespace") }] : []),
    ...(via === "ClusterResourceSet"
      ? [{ reason: "ByClusterAPI", message: sentence("byClusterAPI") }]
      : []),
  ];
}
