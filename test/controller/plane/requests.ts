/** The requests that the controller sent to the API server, from its audit log. */
import { auditOf, isWrite, type AuditedRequest } from "#test/cluster/audit.ts";
import type { Plane } from "./start.ts";

const leases = "coordination.k8s.io/leases";
const account = "system:serviceaccount:kube-system:global-pull-secret-controller";

export type Request = AuditedRequest;

/**
 * The controller's requests from `since` on, without its Lease requests. The list contains a watch
 * only after the watch has ended.
 */
export function requests(plane: Pick<Plane, "cluster">, since = ""): Request[] {
  return allRequests(plane, since).filter(({ resource }) => resource !== leases);
}

/**
 * The controller's write requests, including refused ones, except those to its Lease, Events and
 * status.
 */
export function writes(plane: Plane, since: string): Request[] {
  return requests(plane, since).filter(
    (request) =>
      isWrite(request) && request.resource !== "events" && request.subresource !== "status",
  );
}

function withGroup({ group, resource, ...request }: AuditedRequest): Request {
  const path = [group, resource, request.subresource].filter(Boolean).join("/");
  return { ...request, group, resource: path };
}

/** `requests` with the Lease requests. Resources are written as `group/resource`. */
export function allRequests(plane: Pick<Plane, "cluster">, since = ""): Request[] {
  return auditOf(plane.cluster, { since })
    .filter(({ user }) => user === account)
    .map((request) => withGroup(request));
}
