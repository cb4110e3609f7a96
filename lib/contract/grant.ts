/**
 * A grant: what an agent is allowed to apply. The grant is in the annotations of the agent's pod,
 * which the agent reads as files.
 */
import { digestAnnotation, revisionAnnotation, sinceAnnotation, wordAnnotation } from "./names.ts";

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

/** A part of a grant → the pod's annotation. */
export const grantAnnotations = {
  revision: revisionAnnotation,
  digest: digestAnnotation,
  since: sinceAnnotation,
  word: wordAnnotation,
} as const;

/**
 * A part of a grant → its file in the agent's mount. The file is empty if the pod does not have the
 * annotation.
 */
export const grantFiles = {
  revision: "grant.revision",
  digest: "grant.digest",
  since: "grant.since",
  word: "grant.word",
} as const;

export type Grant = Readonly<{
  /** 0: the grant is withdrawn, and the node keeps what it has. */
  revision: number;
  /**
   * Digest of the content. In a withdrawn grant: the decimal number of the revision that the node
   * is excused from, or empty.
   */
  digest: string;
  /** When the pod's ContainersReady condition last changed before the grant was written. */
  since: string;
  /** Whether the proof must be a termination message. */
  word: boolean;
}>;

/** Identifies a grant: the same content with another `since` is a new grant. */
export type GrantKey = Pick<Grant, "revision" | "digest" | "since">;

type Part = keyof typeof grantAnnotations;

const forms = {
  digest: /^[\w-]{0,64}$/,
  since: /^[\w.:+-]{1,40}$/,
} as const;

/**
 * Parses a grant. Undefined if a part has another form. Annotations without `since` never grant
 * anything.
 */
export function readGrant(texts: Readonly<Partial<Record<Part, string>>>): Grant | undefined {
  const { digest = "", since = "", word = "" } = texts;
  const revision = revisionOf(texts.revision ?? "");
  const fits = forms.digest.test(digest) && forms.since.test(since);
  if (revision === undefined || !fits) return undefined;
  return { revision, digest, since, word: word === "true" };
}

/** The grant of a pod's annotations. */
export function grantOf(
  annotations: Readonly<Record<string, string>> | undefined,
): Grant | undefined {
  return readGrant({
    revision: annotations?.[revisionAnnotation] ?? "",
    digest: annotations?.[digestAnnotation] ?? "",
    since: annotations?.[sinceAnnotation] ?? "",
    word: annotations?.[wordAnnotation] ?? "",
  });
}

/** `7/DIGEST/SINCE`. */
export function keyOf({ revision, digest, since }: GrantKey): string {
  return `${revision}/${digest}/${since}`;
}
