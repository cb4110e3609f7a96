/**
 * Warnings about what an object asks for and not everybody intends; status shows them meanwhile.
 * Pure.
 */
import type { FleetWarningReason } from "#api/fleet-reasons.ts";
import type { FleetSecretSpec } from "#api/fleet-secret.ts";
import { sentence } from "../secret/problems.ts";

export type Warning = Readonly<{ reason: FleetWarningReason; message: string }>;

export function warningsOf(spec: FleetSecretSpec): readonly Warning[] {
  const { clusterAPI, clusterProfiles, via } = spec;
  const labels = clusterProfiles?.selector.matchLabels ?? {};
  const everyProfile = clusterProfiles !== undefined && Object.keys(labels).length === 0;
  const every = clusterAPI !== undefined && clusterAPI.namespaceSelector.matchLabels === undefined;
  const delegated = via === "ClusterResourceSet";
  const all: readonly (Warning & Readonly<{ when: boolean }>)[] = [
    { when: every, reason: "EveryNamespace", message: sentence("everyNamespace") },
    { when: everyProfile, reason: "EveryProfile", message: sentence("everyProfile") },
    { when: delegated, reason: "ByClusterAPI", message: sentence("byClusterAPI") },
  ];
  return all.filter(({ when }) => when).map(({ reason, message }) => ({ reason, message }));
}
