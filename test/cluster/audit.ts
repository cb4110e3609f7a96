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

/** True for what keeps a watch open: itself, and the list of the one object that it follows. */
export const keepsWatch = ({ verb, uri }: AuditedRequest): boolean =>
  verb === "watch" || (verb === "list" && uri.includes("fieldSelector=metadata.name"));

/** The end of the log in bytes, to read on from. */
export function auditEnd({ auditLog }: Pick<Cluster, "auditLog">): number {
  return statSync(auditLog).size;
}

/** Every request since a time (ISO 8601), or after a former end of the log, oldest answer first. */
export function auditOf(
  { auditLog }: Pick<Cluster, "auditLog">,
  { since = "", after = 0 }: Readonly<{ since?: string; after?: number }> = {},
): AuditedRequest[] {
  return upToDate(auditLog)
    .requests.filter(({ start, request }) => start >= after && request.at >= since)
    .map(({ request }) => request);
}

/** `end`: of the last whole line, in bytes; `start`: of a request's line. */
type Log = { end: number; requests: { start: number; request: AuditedRequest }[] };

/**
 * What was read of each log before. A wait looks ten times a second, and the log of a file's tests
 * has tens of megabytes in the end: read anew each time, it kept a core busy.
 */
const logs = new Map<string, Log>();

function upToDate(file: string): Log {
  const size = statSync(file).size;
  let log = logs.get(file);
  if (log === undefined || size < log.end) logs.set(file, (log = { end: 0, requests: [] }));
  const bytes = read(file, log.end, size);
  const begun = log.end;
  for (;;) {
    const from = log.end - begun;
    const newline = bytes.indexOf("\n", from);
    if (newline < 0) return log;
    const [line] = parsed(bytes.toString("utf8", from, newline));
    if (line !== undefined) log.requests.push({ start: log.end, request: asked(line) });
    log.end = begun + newline + 1;
  }
}

function read(file: string, from: number, to: number): Buffer {
  const bytes = Buffer.alloc(to - from);
  const descriptor = openSync(file, "r");
  readSync(descriptor, bytes, 0, bytes.length, from);
  closeSync(descriptor);
  return bytes;
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
