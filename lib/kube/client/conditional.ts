/**
 * Writes to one version of one object, with every expected outcome as a value. The caller's
 * decision holds only for that version. If the object has a later version, that is not an error:
 * the caller reads the object and decides again. A call rejects (with ApiError) only if the
 * outcome contains no information about the object: no answer, 401, 408, 429, most 5xx.
 */
import type { KubernetesObject } from "@kubernetes/client-node";
import { ApiError } from "./api-error.ts";
import type { Cluster } from "./cluster.ts";

/** The version of the object for which the caller decided. */
export type Version = Readonly<{ uid: string; resourceVersion: string }>;

export type Conditional<T> =
  | Readonly<{ is: "done"; object: T }>
  /** There is a later version, or another object has the name now. Nothing was done. */
  | Readonly<{ is: "conflict" }>
  | Readonly<{ is: "gone" }>
  /**
   * A right is missing, or an admission policy, a webhook or a rule of the API refused the request.
   * The request has no effect until an administrator changes that. `status` is 200 if admission
   * accepted the request and changed it. `why` is short enough for an Event.
   */
  | Readonly<{ is: "refused"; status: number; why: string }>;

/** Sets these annotations of the object, and no other field; null removes an annotation. */
export async function annotate<T>(
  cluster: Pick<Cluster, "patch">,
  path: string,
  { uid, resourceVersion }: Version,
  annotations: Readonly<Record<string, string | null>>,
): Promise<Conditional<T>> {
  const metadata = { uid, resourceVersion, annotations };
  const sent = Object.values(annotations).filter((annotation) => annotation !== null);
  const answer = await outcome(() => cluster.patch<T>(path, { metadata }), sent);
  if (answer.is !== "done") return answer;
  // Admission can accept a patch and change it. Without this check, we would repeat the patch
  // forever.
  const { annotations: patched = {} } = (answer.object as KubernetesObject).metadata ?? {};
  const lost = Object.entries(annotations).find(([key, value]) => (patched[key] ?? null) !== value);
  if (lost === undefined) return answer;
  return { is: "refused", status: 200, why: `admission changes metadata.annotations[${lost[0]}]` };
}

/** Begins to delete the object. An object that is already gone counts as done. */
export async function removeVersion(
  cluster: Pick<Cluster, "remove">,
  path: string,
  { uid, resourceVersion }: Version,
): Promise<Conditional<void>> {
  return outcome(() => cluster.remove(path, uid, resourceVersion), []);
}

async function outcome<T>(
  write: () => Promise<T>,
  sent: readonly string[],
): Promise<Conditional<T>> {
  try {
    return { is: "done", object: await write() };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { status, reason, detail = "" } = error;
    if (error.isDenial) return { is: "refused", status, why: quotable(detail, sent) || reason };
    if (status === 404) return { is: "gone" };
    if (status === 409) return { is: "conflict" };
    if (!isRefusal(error)) throw error;
    return { is: "refused", status, why: quotable(detail, sent) || reason };
  }
}

/** Statuses without a decision about the request: no credential, timeout, too many requests. */
const noAnswers: ReadonlySet<number> = new Set([401, 408, 429]);

/**
 * If a webhook cannot be called, the API server refuses the request with 500, and writes nothing.
 */
const isRefusal = ({ status, detail = "" }: ApiError): boolean =>
  (status >= 400 && status < 500 && !noAnswers.has(status)) ||
  (status === 500 && detail.includes("failed calling webhook"));

/**
 * Maximum number of characters of a quoted refusal. An Event has at most 1,024 characters, and can
 * contain the refusals of several nodes.
 */
const longestQuote = 300;

/**
 * Runs of characters that might be a key, a token or a digest. A run with a digit and a capital is
 * not the name of an API object.
 */
const opaque = /[A-Za-z0-9+=_-]{20,}/g;
const looksRandom = (run: string): boolean =>
  /\d/.test(run) && (/[A-Z]/.test(run) || (run.length >= 32 && !run.includes("-")));

/**
 * The text of a refusal, without its sensitive parts. A webhook can write anything, even the
 * request that the webhook received. We leave out the values that we sent, credentials in addresses
 * and headers, and texts that look like a key.
 */
export function quotable(detail: string, sent: readonly string[]): string {
  let text = detail.slice(0, 4 * longestQuote).replaceAll(/[\s\p{C}]+/gu, " ");
  for (const value of sent) if (value.length >= 8) text = text.replaceAll(value, "…");
  text = text
    .replaceAll(/\/\/[^\s/@]*@/g, "//…@")
    .replaceAll(/\b(basic|bearer)\s+[^\s"',]+/gi, "$1 …")
    .replaceAll(opaque, (run) => (looksRandom(run) ? "…" : run))
    .trim();
  return text.length > longestQuote ? `${text.slice(0, longestQuote - 1)}…` : text;
}
