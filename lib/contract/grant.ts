/** A grant: what a pod may apply, by its annotations, which the agent reads as files. */
import { digestAnnotation, revisionAnnotation, sinceAnnotation, wordAnnotation } from "./names.ts";

/**
 * The highest number that counts, at a revision a second after 34,000 years. A higher one is some
 * damage: whoever believed it could publish nothing above it.
 */
export const mostRevision = 2 ** 40 - 1;

/** Whether it is the number of a revision; 0 is none. */
export function isRevision(number: unknown): number is number {
  return Number.isInteger(number) && Number(number) >= 0 && Number(number) <= mostRevision;
}

/** A revision as it is written; undefined for any other text. */
export function revisionOf(text: string): number | undefined {
  const number = /^\d{1,13}$/.test(text) ? Number(text) : undefined;
  return isRevision(number) ? number : undefined;
}

/** A part of a grant → the pod's annotation. The volume has each as the file `grant.PART`. */
export const grantAnnotations = {
  revision: revisionAnnotation,
  digest: digestAnnotation,
  since: sinceAnnotation,
  word: wordAnnotation,
} as const;

/** A part of a grant → its file in the agent's mount. It is empty without the annotation. */
export const grantFiles = {
  revision: "grant.revision",
  digest: "grant.digest",
  since: "grant.since",
  word: "grant.word",
} as const;

export type Grant = Readonly<{
  /** 0: the grant is taken back, and the node keeps what it has. */
  revision: number;
  /**
   * Of the content. Where the grant is taken back: the decimal number of the revision that the node
   * is excused from, or empty.
   */
  digest: string;
  /** Transition time of the pod's ContainersReady condition when the grant was written. */
  since: string;
  /** The proof is a termination message. */
  word: boolean;
}>;

/** One grant from another: the same content with another `since` is a new grant. */
export type GrantKey = Pick<Grant, "revision" | "digest" | "since">;

type Part = keyof typeof grantAnnotations;

const forms = {
  digest: /^[\w-]{0,64}$/,
  since: /^[\w.:+-]{1,40}$/,
} as const;

/**
 * The grant of these texts. Undefined where one of them is not of our form: a pod that another
 * version has made has no `since`, and is never granted anything by its annotations.
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
