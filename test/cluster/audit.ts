/** The API server's audit log: the user, the time and the answer of each request. */
import { closeSync, openSync, readSync, statSync } from "node:fs";
import type { Cluster } from "./cluster.ts";

/** A request, logged at the time of its answer. A watch is logged at its end. */
export type AuditedRequest = Readonly<{
  user: string;
  userAgent: string;
  verb: string;
  /** API group. Empty for the core group. */
  group: string;
  resource: string;
  /** The subresource, such as `status`; empty for the object itself. */
  subresource: string;
  /** Empty for cluster-wide objects, and for lists over all namespaces. */
  namespace: string;
  /** Empty for lists, and for create requests if the server generates the name. */
  name: string;
  uri: string;
  code: number;
  /** When the API server received the request: ISO 8601, UTC, microseconds. */
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

/** True for a request for a change, even if the API server refused the request. */
export const isWrite = ({ verb }: AuditedRequest): boolean => !reading.has(verb);

/**
 * True for the requests that keep a watch open: the watch itself, and the list of the one object
 * that the watch follows.
 */
export const keepsWatch = ({ verb, uri }: AuditedRequest): boolean =>
  verb === "watch" || (verb === "list" && uri.includes("fieldSelector=metadata.name"));

/** The end of the log, in bytes: the place from which auditOf can continue. */
export function auditEnd({ auditLog }: Pick<Cluster, "auditLog">): number {
  return statSync(auditLog).size;
}

/**
 * The logged requests, in the order of their answers. `since`: only requests that the API server
 * received at this time (ISO 8601) or later. `after`: only requests that are logged after this
 * place, an earlier result of auditEnd.
 */
export function auditOf(
  { auditLog }: Pick<Cluster, "auditLog">,
  { since = "", after = 0 }: Readonly<{ since?: string; after?: number }> = {},
): AuditedRequest[] {
  return upToDate(auditLog)
    .requests.filter(({ start, request }) => start >= after && request.at >= since)
    .map(({ request }) => request);
}

/**
 * Offsets in the file, in bytes. `end`: the end of the last complete line. `start`: the beginning
 * of a request's line.
 */
type Log = { end: number; requests: { start: number; request: AuditedRequest }[] };

/**
 * The part of each log that was already read. A wait checks ten times a second, and the log of one
 * test file reaches tens of megabytes. If each check read the whole log, this would keep a
 * processor core busy.
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

/** Returns nothing for a line that was cut off when the API server was killed. */
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
