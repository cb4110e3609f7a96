/** The API server's audit log: who asked for what, when, and what the answer was. */
import { readFileSync } from "node:fs";
import type { Cluster } from "../cluster/cluster.ts";

export const controllerAccount = "system:serviceaccount:kube-system:global-pull-secret-controller";

type Asked = Readonly<{
  user: string;
  verb: string;
  resource: string;
  /** Empty for lists, and for creates whose name the server makes. */
  name: string;
  code: number;
  /** When the API server got it: ISO 8601, UTC, microseconds. */
  at: string;
}>;

type Line = {
  verb: string;
  user: { username: string };
  objectRef?: { resource?: string; name?: string };
  responseStatus?: { code?: number };
  requestReceivedTimestamp: string;
};

/** Every request from `since` on (ISO 8601), oldest answer first; a watch stands where it ended. */
export function auditOf(cluster: Cluster, since = ""): Asked[] {
  const lines = readFileSync(cluster.auditLog, "utf8").split("\n").slice(0, -1);
  return lines.flatMap((line) => {
    let one: Line;
    try {
      one = JSON.parse(line) as Line;
    } catch {
      return []; // cut short when the API server was killed
    }
    if (one.requestReceivedTimestamp < since) return [];
    const { verb, user, objectRef, responseStatus, requestReceivedTimestamp: at } = one;
    const [resource, name] = [objectRef?.resource ?? "", objectRef?.name ?? ""];
    return [{ user: user.username, verb, resource, name, code: responseStatus?.code ?? 0, at }];
  });
}

/** What the controllers asked for, without their watches and what keeps their Lease. */
export function askedByController(cluster: Cluster, since = ""): Asked[] {
  return auditOf(cluster, since).filter(
    ({ user, verb, resource }) =>
      user === controllerAccount && verb !== "watch" && resource !== "leases",
  );
}
