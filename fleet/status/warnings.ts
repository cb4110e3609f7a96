/**
 * Warnings about what an object asks for and not everybody intends; status shows them meanwhile.
 * Pure.
 */
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
