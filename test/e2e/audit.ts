/** What the controllers asked of the API server. */
import { auditOf, type AuditedRequest } from "../cluster/audit.ts";
import type { Cluster } from "../cluster/cluster.ts";

export const controllerAccount = "system:serviceaccount:kube-system:global-pull-secret-controller";

/** Without their watches and what keeps their Lease, from `since` on (ISO 8601). */
export function askedByController(cluster: Cluster, since = ""): AuditedRequest[] {
  return auditOf(cluster, { since }).filter(
    ({ user, verb, resource }) =>
      user === controllerAccount && verb !== "watch" && resource !== "leases",
  );
}
