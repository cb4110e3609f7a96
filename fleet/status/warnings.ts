/**
 * Warnings about what an object asks for and not everybody intends; status shows them meanwhile.
 * Pure.
 */
import type { FleetSecretSpec } from "#api/fleet-secret.ts";
import { sentence } from "../secret/problems.ts";

export type Warning = Readonly<{ reason: string; message: string }>;

export function warningsOf(spec: FleetSecretSpec): readonly Warning[] {
  const { clusterAPI, clusterProfiles, via } = spec;
  const labels = clusterProfiles?.selector.matchLabels ?? {};
  const everyProfile = clusterProfiles !== undefined && Object.keys(labels).length === 0;
  const every = clusterAPI !== undefined && clusterAPI.namespaceSelector.matchLabels === undefined;
  return [
    ...(every ? [{ reason: "EveryNamespace", message: sentence("everyNamespace") }] : []),
    ...(everyProfile ? [{ reason: "EveryProfile", message: sentence("everyProfile") }] : []),
    ...(via === "ClusterResourceSet"
      ? [{ reason: "ByClusterAPI", message: sentence("byClusterAPI") }]
      : []),
  ];
}
