/**
 * An order: what the controller asks of one node, in `spec` of the node's NodePullSecret. A report:
 * what the node's agent answers, in `status`.
 */
import { publishedModes, type PublishedMode } from "./names.ts";

/**
 * The highest valid revision, enough for 34,000 years at one revision a second. A higher number is
 * damaged data. If the controller accepted that number, it could not publish the next revision.
 */
export const mostRevision = 2 ** 40 - 1;

/** Whether this is a revision number; 0 means no revision. */
export function isRevision(number: unknown): number is number {
  return Number.isInteger(number) && Number(number) >= 0 && Number(number) <= mostRevision;
}

/** Parses a revision; undefined for any other text. */
export function revisionOf(text: string): number | undefined {
  const number = /^\d{1,13}$/.test(text) ? Number(text) : undefined;
  return isRevision(number) ? number : undefined;
}

export type Order = Readonly<{
  revision: number;
  /** Salted digest of the content. */
  digest: string;
  /**
   * When the controller asked, in seconds since 1970 by the API server's clock. It is raised by 1
   * if the same node is asked twice in a second, so it also distinguishes two orders of the same
   * content. 0: the node was never asked.
   */
  attempt: number;
}>;

/**
 * `Proved`: the content is in force and the kubelet runs with it. `Failed`: the kubelet did not
 * come back with it, and the former content is restored. `Refused`: the content or the release
 * cannot be put in force, and the agent touched nothing.
 * `Removed`: everything of ours has left the node.
 */
export const results = ["Proved", "Failed", "Refused", "Removed"] as const;
export type Result = (typeof results)[number];

/** Decisions use revision, digest, attempt, result, code and since only. */
export type Report = Order &
  Readonly<{
    result: Result;
    /** `GPS123`, from the agents' catalogue. */
    code: string;
    /** For people. At most 800 characters, without control characters. */
    message: string;
    mode: PublishedMode;
    /** The agent's version. */
    version: string;
    /**
     * Seconds since 1970: when the agent first gave this result with this code for this content.
     */
    since: number;
    /** Seconds since 1970: when the agent gave this report. */
    time: number;
  }>;

/** `7/DIGEST/1764416000`. */
export const keyOf = ({ revision, digest, attempt }: Order): string =>
  `${revision}/${digest}/${attempt}`;

/**
 * Parses `spec` of a NodePullSecret. Undefined if a part has another form, or nothing was asked.
 */
export function readOrder(spec: unknown): Order | undefined {
  const { revision, digest, attempt } = (spec ?? {}) as Partial<Record<keyof Order, unknown>>;
  if (!isRevision(revision) || !isRevision(attempt) || attempt === 0) return undefined;
  if (typeof digest !== "string" || !/^[\w-]{1,64}$/.test(digest)) return undefined;
  return { revision, digest, attempt };
}

/** Parses `status` of a NodePullSecret. Undefined if a part is missing or has another form. */
export function readReport(status: unknown): Report | undefined {
  const read = (status ?? {}) as Partial<Record<keyof Report, unknown>>;
  const { revision, attempt, digest, code, message, version } = read;
  const result = results.find((result) => result === read.result);
  const mode = publishedModes.find((mode) => mode === read.mode);
  const [since, time] = [secondsOf(read.since), secondsOf(read.time)];
  if (!isRevision(revision) || !isRevision(attempt) || !isText(digest, 64)) return undefined;
  if (!isText(code, 6) || !isText(message, 800) || !isText(version, 64)) return undefined;
  if (result === undefined || mode === undefined) return undefined;
  if (since === undefined || time === undefined) return undefined;
  return { revision, digest, attempt, result, code, message, mode, version, since, time };
}

const isText = (value: unknown, most: number): value is string =>
  typeof value === "string" && value.length <= most;

/** Seconds since 1970 of a time in RFC 3339. */
function secondsOf(time: unknown): number | undefined {
  const milliseconds = typeof time === "string" ? Date.parse(time) : Number.NaN;
  return Number.isFinite(milliseconds) ? Math.floor(milliseconds / 1000) : undefined;
}

/** A revision with its digest, which together identify one content. */
export type Named = Readonly<{ revision: number; digest?: string | undefined }>;

/**
 * Whether both name the same content, by revision and digest. The revision alone is not enough:
 * after etcd is restored, or the product is installed again, the same number can return with other
 * content. A journal without a digest belongs to no order.
 */
export function belongsTo(named: Named, other: Named | "none" | "answered" | "unknown"): boolean {
  if (typeof other === "string") return false;
  return named.revision === other.revision && named.digest === other.digest;
}
