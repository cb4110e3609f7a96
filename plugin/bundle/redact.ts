/**
 * Free text for strangers' eyes. What others wrote may hold a credential in words that nobody
 * foresaw; so a word is shown for what it is like: plain words, numbers, times, versions and paths
 * of these, and what the cluster's objects are called. Every other is left out. Pure.
 */
import { redacted } from "#pullsecret/problems/token.ts";

export type Known = Readonly<{
  /** What the cluster calls its nodes, pods, images and registries. */
  names: ReadonlySet<string>;
  /** Credentials for sure: those of Secrets that the caller may read. */
  secrets: readonly string[];
}>;

/**
 * What announces a credential: `token: x`, `--password=x`, `Bearer x`. The word after it is left
 * out, whatever it is like.
 */
const announced =
  /\b((?:pass(?:word|wd|phrase)?|token|auth(?:orization)?|credentials?|api[-_]?key)["']?\s*[:=]\s*["']?(?:(?:basic|bearer)\s+)?|(?:basic|bearer)\s+)[^\s"',;]+/gi;

/** A user and password in a URL: `//user:password@host`. */
const userinfo = /\/\/[^\s/@]*@/g;

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;
/** What may stand in a word besides letters and digits; a mark of a sentence at its end, too. */
const marks = /[-_./:@+%*<>[\]{}]+|#(?=gps)|[!?]$/;
/**
 * What a word may be between its marks: a number with its unit, a version's number, a code of the
 * catalogue.
 */
const number = /^(?:\d{1,10}(?:ms|[smhd]|[KMG]i?B?)?|v\d{1,4}|(?:GPS|gps)\d{3}|amd64|arm64)$/;
/** A word, or a name such as ImagePullBackOff. Base64 changes between cases more often. */
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

/** Redacts every text of a value. The names of its members stay. */
export function redactAll<T>(value: T, known: Known): T {
  const each = (_: string, one: unknown) =>
    typeof one === "string" ? redactText(one, known) : one;
  return JSON.parse(JSON.stringify(value), each) as T;
}
