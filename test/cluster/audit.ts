/** The API server's audit log: who asked for what, when, and what the answer was. */
import { closeSync, openSync, readSync, statSync } from "node:fs";
import type { Cluster } from "./cluster.ts";

/** One request, as it stood when it was answered; a watch as it ended. */
export type AuditedRequest = Readonly<{
  user: string;
  userAgent: string;
  verb: string;
  /** API group; empty for the core one. */
  group: string;
  resource: string;
  /** Such as `status`; empty for the object itself. */
  subresource: string;
  /** Empty for what is of the whole cluster, and for lists over all namespaces. */
  namespace: string;
  /** Empty for lists, and for creates whose name the server makes. */
  name: string;
  uri: string;
  code: number;
  /** When the API server got it: ISO 8601, UTC, microseconds. */
  at: string;
}>;

type Line = {
  verb: string;
  requestURI: string;
  user: { username: string };
  userAgent?: string;
  objectRef?: Partial<
    Record<"resource" | "subresource" | "apiGroup" | "namespace" | "name", string>
  >;
  responseStatus?: { code?: number };
  requestReceivedTimestamp: string;
};

const reading: ReadonlySet<string> = new Set(["get", "list", "watch"]);

/** True for a request that was meant to change something, whatever became of it. */
export const isWrite = ({ verb }: AuditedRequest): boolean => !reading.has(verb);

/** The end of the log in bytes, to read on from. */
export function auditEnd({ auditLog }: Cluster): number {
  return statSync(auditLog).size;
}

/** Every request since a time (ISO 8601), or after a former end of the log, oldest answer first. */
export function auditOf(
  { auditLog }: Cluster,
  { since = "", after = 0 }: Readonly<{ since?: string; after?: number }> = {},
): AuditedRequest[] {
  const lines = read(auditLog, after).split("\n").slice(0, -1).flatMap(parsed);
  return lines.filter((line) => line.requestReceivedTimestamp >= since).map(asked);
}

function read(file: string, after: number): string {
  const bytes = Buffer.alloc(statSync(file).size - after);
  const descriptor = openSync(file, "r");
  readSync(descriptor, bytes, 0, bytes.length, after);
  closeSync(descriptor);
  return bytes.toString();
}

/** A line is cut short where the API server was killed. */
function parsed(text: string): Line[] {
  try {
    return [JSON.parse(text) as Line];
  } catch {
    return [];
  }
}

function asked({ verb, requestURI, user, userAgent, objectRef, ...line }: Line): AuditedRequest {
  return {
    user: user.username,
    userAgent: userAgent ?? "",
    verb,
    group: objectRef?.apiGroup ?? "",
    resource: objectRef?.resource ?? "",
    subresource: objectRef?.subresource ?? "",
    namespace: objectRef?.namespace ?? "",
    name: objectRef?.name ?? "",
    uri: requestURI,
    code: line.responseStatus?.code ?? 0,
    at: line.requestReceivedTimestamp,
  };
}
