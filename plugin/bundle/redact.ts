/**
 * Redacts free text before a user sends it to strangers. Text of other programs can contain a
 * credential in a form that we did not foresee. We therefore show only plain words, numbers, times,
 * versions, paths that consist of such words, and names of the cluster's objects. Pure.
 */
import { redacted } from "#pullsecret/problems/token.ts";

export type Known = Readonly<{
  /** The names of the cluster's nodes, pods, images and registries. */
  names: ReadonlySet<string>;
  /** The credentials in the Secrets that the caller is allowed to read. */
  secrets: readonly string[];
}>;

/**
 * A credential after a word that announces it, as in `token: x`, `--password=x` or `Bearer x`. We
 * always redact it.
 */
const announced =
  /\b((?:pass(?:word|wd|phrase)?|token|auth(?:orization)?|credentials?|api[-_]?key)["']?\s*[:=]\s*["']?(?:(?:basic|bearer)\s+)?|(?:basic|bearer)\s+)[^\s"',;]+/gi;

/** A user and a password in a URL: `//user:password@host`. We redact both. */
const userinfo = /\/\/[^\s/@]*@/g;

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;
/**
 * The characters that split a word into parts. We show a word only if we would show each of its
 * parts.
 */
const marks = /[-_./:@+%*<>[\]{}]+|#(?=gps)|[!?]$/;
/**
 * We show a part of a word if it is a number with or without a unit, a version number, a code such
 * as GPS123, or an architecture.
 */
const number = /^(?:\d{1,10}(?:ms|[smhd]|[KMG]i?B?)?|v\d{1,4}|(?:GPS|gps)\d{3}|amd64|arm64)$/;
/**
 * We also show a part that consists of letters, such as ImagePullBackOff. Long base64 hardly ever
 * matches, because base64 changes between upper and lower case more often.
 */
const letters = /^[A-Z]{0,8}[a-z]*(?:[A-Z][a-z]+)*$/;
const longestWord = 32;

export function redactText(text: string, { names, secrets }: Known): string {
  return secrets
    .reduce((masked, secret) => masked.replaceAll(secret, redacted), text)
    .replace(userinfo, `//${redacted}@`)
    .replace(announced, `$1${redacted}`)
    .split(/([\s"'`,;()|=]+)/)
    .map((word) => (isPlain(word, names) ? word : redacted))
    .join("");
}

function isPlain(word: string, names: ReadonlySet<string>): boolean {
  if (/^[\s"'`,;()|=]+$/.test(word) || names.has(word.replace(/[.:]$/, ""))) return true;
  if (time.test(word)) return true;
  const parts = word.replaceAll(redacted, "").split(marks);
  return parts.every((part) => number.test(part) || isWord(part));
}

const isWord = (part: string): boolean => part.length <= longestWord && letters.test(part);

/** Redacts every text in a value, but no field names. */
export function redactAll<T>(value: T, terms: Known): T {
  const each = (_: string, field: unknown) =>
    typeof field === "string" ? redactText(field, terms) : field;
  return JSON.parse(JSON.stringify(value), each) as T;
}
