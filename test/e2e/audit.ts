/** The requests that the controllers sent to the API server. */
import { auditOf, type AuditedRequest } from "../cluster/audit.ts";
import type { Cluster } from "../cluster/cluster.ts";

export const controllerAccount = "system:serviceaccount:kube-system:global-pull-secret-controller";

/** The controllers' requests since `since` (ISO 8601), without watches and Lease requests. */
export function controllerRequests(cluster: Cluster, since = ""): AuditedRequest[] {
  return auditOf(cluster, { since }).filter(
    ({ user, verb, resource }) =>
      user === controllerAccount && verb !== "watch" && resource !== "leases",
  );
}
