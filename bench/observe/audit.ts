/** The requests of the controllers and the agents to the API server. */
import * as names from "#contract/names.ts";
import { auditOf, keepsWatch, type AuditedRequest } from "#test/cluster/audit.ts";
import type { Cluster } from "#test/cluster/cluster.ts";

const controller = `system:serviceaccount:${names.namespace}:global-pull-secret-controller`;

/**
 * The controllers' requests since `after`, an earlier size of the audit log. Leaves out the
 * requests that an idle controller makes as well: a list and a watch of each collection every four
 * minutes, and requests for the Lease, which the leader writes every 4 s and the standby reads
 * every 2 s.
 */
export function controllersSince(cluster: Cluster, after: number): readonly AuditedRequest[] {
  return auditOf(cluster, { after }).filter(
    (request) =>
      request.user === controller &&
      request.group !== "coordination.k8s.io" &&
      !keepsWatch(request),
  );
}

const agent = `system:serviceaccount:${names.namespace}:global-pull-secret-syncer`;

/** The number of the agents' reports since `after`, an earlier size of the audit log. */
export function reportsSince(cluster: Cluster, after: number): number {
  return auditOf(cluster, { after }).filter(
    ({ user, resource, subresource, verb }) =>
      user === agent &&
      resource === "nodepullsecrets" &&
      subresource === "status" &&
      verb === "patch",
  ).length;
}
