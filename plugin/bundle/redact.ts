/**
 * Redacts free text before it is sent to strangers. Text of other programs may contain a credential
 * in a form that we did not foresee. So we show only known kinds of words: plain words, numbers,
 * times, versions, paths made of these, and the names of the cluster's objects. We leave out every
 * other word. Pure.
 */
import { redacted } from "#pullsecret/problems/token.ts";

export type Known = Readonly<{
  /** The names of the cluster's nodes, pods, images and registries. */
  names: ReadonlySet<string>;
  /** The credentials in the Secrets that the caller may read. */
  secrets: readonly string[];
}>;

/**
 * A word that comes before a credential: `token: x`, `--password=x`, `Bearer x`. We always leave
 * out the word after it.
 */
const announced =
  /\b((?:pass(?:word|wd|phrase)?|token|auth(?:orization)?|credentials?|api[-_]?key)["']?\s*[:=]\s*["']?(?:(?:basic|bearer)\s+)?|(?:basic|bearer)\s+)[^\s"',;]+/gi;

/** A user and password in a URL: `//user:password@host`. */
const userinfo = /\/\/[^\s/@]*@/g;

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;
/**
 * The characters that a word may contain besides letters and digits. A word may also end with a
 * punctuation mark.
 */
const marks = /[-_./:@+%*<>[\]{}]+|#(?=gps)|[!?]$/;
/**
 * These characters split a word into parts. We show a part if it is a number with a unit, a version
 * number or a code of the catalogue.
 */
const number = /^(?:\d{1,10}(?:ms|[smhd]|[KMG]i?B?)?|v\d{1,4}|(?:GPS|gps)\d{3}|amd64|arm64)$/;
/**
 * We also show a part if it is a word, or a name such as ImagePullBackOff. Long base64 hardly ever
 * matches, because base64 mixes upper and lower case more than such names do.
 */
const letters = /^[A-Z]{0,8}[a-z]*(?:[A-Z][a-z]+)*$/;
const longestWord = 32;

export function redactText(text: string, { names, secrets }: Known): string {
  return secrets
    .reduce((left, one) => left.replaceAll(one, redacted), text)
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

/** Redacts every text of a value. The names of the members stay. */
export function redactAll<T>(value: T, known: Known): T {
  const each = (_: string, one: unknown) =>
    typeof one === "string" ? redactText(one, known) : one;
  return JSON.parse(JSON.stringify(value), each) as T;
}
