/** How often the controllers and the agents asked the API server. */
import * as names from "#contract/names.ts";
import { auditOf, isWrite, keepsWatch, type AuditedRequest } from "#test/cluster/audit.ts";
import type { Cluster } from "#test/cluster/cluster.ts";

const account = (name: string) => `system:serviceaccount:${names.namespace}:${name}`;
const controller = account("global-pull-secret-controller");

/**
 * Requests of the controllers, and of the agents, which have an account but no token, after a
 * former end of the log. Without those that keep their watches open (a list and a watch each every
 * four minutes, change or no change) and their Lease (the leader writes it every 4 s, the standby
 * reads it every 2 s).
 */
export function requestsSince(
  cluster: Cluster,
  after: number,
): Readonly<{ controller: number; agents: number }> {
  const users = auditOf(cluster, { after })
    .filter((one) => !keepsPlace(one))
    .map(({ user }) => user);
  const of = (name: string) => users.filter((user) => user === name).length;
  return { controller: of(controller), agents: of(account(names.agentName)) };
}

/**
 * Counts the controller's requests that were meant to change something, and those that only tell.
 */
export function controllerWrites(
  cluster: Cluster,
  after: number,
): Readonly<{ changes: number; status: number }> {
  const writes = auditOf(cluster, { after }).filter(
    (one) => one.user === controller && isWrite(one) && !keepsPlace(one),
  );
  const status = writes.filter(({ subresource }) => subresource === "status").length;
  return { changes: writes.length - status, status };
}

function keepsPlace(one: AuditedRequest): boolean {
  return one.group === "coordination.k8s.io" || keepsWatch(one);
}
