/** The objects that the agent follows: what it keeps of them, and what it writes. Pure. */
import { type Order, type Report, readOrder, readReport } from "#contract/order.ts";

/** An object as the API server sends it. Only its version was checked. */
export type ApiObject = Readonly<{
  metadata: Readonly<{ resourceVersion: string; uid?: unknown }>;
  [part: string]: unknown;
}>;

type Part = Readonly<Record<string, unknown>>;

export const isPart = (value: unknown): value is Part =>
  typeof value === "object" && value !== null;

export function isApiObject(value: unknown): value is ApiObject {
  const metadata = isPart(value) ? value["metadata"] : undefined;
  const version = isPart(metadata) ? metadata["resourceVersion"] : undefined;
  return typeof version === "string" && version !== "";
}

/** This node's NodePullSecret. Undefined: nothing was asked, or nothing was reported. */
export type Own = Readonly<{ uid: string; order: Order | undefined; report: Report | undefined }>;

/** A report before it gets its times. */
export type NewReport = Omit<Report, "since" | "time">;

/** The values of a Secret. The rest of the object is not kept, to save memory. */
export function dataOf({ data }: ApiObject): Readonly<Record<string, string>> {
  const entries = Object.entries(data ?? {});
  return Object.fromEntries(entries.filter(([, value]) => typeof value === "string"));
}

export function ownOf({ metadata, spec, status }: ApiObject): Own {
  return { uid: String(metadata.uid), order: readOrder(spec), report: readReport(status) };
}

const contentAndResult = ["revision", "digest", "result", "code"] as const;
const all = [...contentAndResult, "attempt", "mode", "version"] as const;

/** Whether the object already has this report. The message and the times do not count. */
export function isReported(report: NewReport, former: Report | undefined): boolean {
  return all.every((part) => report[part] === former?.[part]);
}

/**
 * The status to write. `since` is kept if the former report has the same result and code for the
 * same content. `now`: seconds since 1970.
 */
export function statusOf(report: NewReport, former: Report | undefined, now: number): object {
  const isSame = contentAndResult.every((part) => report[part] === former?.[part]);
  const since = isSame && former !== undefined ? former.since : now;
  return { ...report, since: timeOf(since), time: timeOf(now) };
}

/** In RFC 3339. */
const timeOf = (seconds: number) => new Date(seconds * 1000).toISOString();

/** Limits of the NodePullSecret's definition. */
const mostMessage = 800;
const mostVersion = 64;

/** The report with texts that the API server accepts. */
export function trimmed(report: NewReport): NewReport {
  const message = text(report.message, mostMessage);
  return { ...report, message, version: text(report.version, mostVersion) };
}

/** Cut, and without control characters and halves of characters. */
function text(value: string, most: number): string {
  return value.slice(0, most).replaceAll(/\p{C}/gu, " ");
}
