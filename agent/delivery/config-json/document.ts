/**
 * The content of config.json on the node: read as the kubelet reads it, with the entries of other
 * programs kept as they are.
 *
 * One bad entry makes the kubelet ignore the whole file without a message. The overlay leaves bad
 * entries out, so that the kubelet reads ours. The journal keeps them, and they come back on
 * removal.
 */
import { fold, notUtf8 } from "#pullsecret/json/json.ts";
import { quote } from "#pullsecret/problems/keypath.ts";
import { treeOf, credentialFields, readFields } from "#pullsecret/kubelet/kubelet.ts";
import { Fault, JsonMembers, type Tree } from "#pullsecret/json/text.ts";
import { valuesOf } from "#pullsecret/json/values.ts";

export type NodeDocument = Readonly<{
  /** Registry key → the entry as it is in the file. */
  auths: ReadonlyMap<string, RawJson>;
  /** Every other top-level key. */
  rest: ReadonlyMap<string, RawJson>;
}>;

/**
 * `unreadable`: no entry can be told from another. `odd`: the kubelet might read something that we
 * could not write back, so we do not touch the file.
 */
export type Reading =
  | Readonly<{ kind: "document"; document: NodeDocument }>
  | Readonly<{ kind: "unreadable"; why: string }>
  | Readonly<{ kind: "odd"; why: string }>;

export const emptyDocument: NodeDocument = { auths: new Map(), rest: new Map() };

/**
 * Reads config.json. Never throws. The reasons contain keys of the file, but never a value. The
 * keys are redacted, because a key might contain a password, as in `https://user:password@host`.
 */
export function readDocument(bytes: Uint8Array): Reading {
  const tree = treeOf(bytes);
  if (tree instanceof Fault) return { kind: "unreadable", why: "it is not JSON" };
  if (tree === null) return { kind: "document", document: emptyDocument };
  if (!(tree instanceof JsonMembers)) return { kind: "unreadable", why: "it is not a JSON object" };
  const { value, faults } = rawValues(tree);
  // Two parsers could read a file with such a fault differently. If we wrote the file back, we
  // could lose data.
  const [fault = notUtf8(bytes)] = faults;
  if (fault !== undefined) return { kind: "odd", why: `${fault.path}: ${fault.kind}` };
  const rest = new Map(membersOf(value));
  // Go's decoder also accepts AUTHS, Auths and spellings with a long s, and merges them with
  // `auths`. If the file had such a key, the order of the keys would decide whether our `auths`
  // wins.
  const other = [...rest.keys()].find((key) => key !== "auths" && fold(key) === "auths");
  if (other !== undefined)
    return { kind: "odd", why: `the key ${quote(other)} should be spelled "auths"` };
  const auths = rest.get("auths") ?? {};
  rest.delete("auths");
  if (!isObject(auths)) return { kind: "unreadable", why: "auths is not an object" };
  return { kind: "document", document: { auths: new Map(Object.entries(auths)), rest } };
}

/** The document without the parts because of which the kubelet would ignore the whole file. */
export function withoutInvalid({ auths, rest }: NodeDocument): NodeDocument {
  return {
    auths: new Map([...auths].filter(([, entry]) => isReadable(entry))),
    rest: new Map(
      [...rest].filter(([key, value]) => fold(key) !== "httpheaders" || isStringMap(value)),
    ),
  };
}

/**
 * The document as bytes: compact, or indented like `like`, and with a final newline if `like` has
 * one.
 */
export function writeDocument(document: NodeDocument, like?: Uint8Array): Buffer {
  const head = Buffer.from(like?.subarray(0, 256) ?? []).toString("latin1");
  const indent = /^\s*\{\r?\n([ \t]{1,8})"/.exec(head)?.[1];
  const top = Object.fromEntries([["auths", Object.fromEntries(document.auths)], ...document.rest]);
  return Buffer.from(JSON.stringify(top, undefined, indent) + (like?.at(-1) === 0x0a ? "\n" : ""));
}

// Values. The agent needs a value in two forms. One is the value to write back, in which numbers
// keep their text (1.0, 12345678901234567890). The other is the credential that the kubelet takes
// from an entry.

/** A JSON value that JSON.stringify writes as it was. A number is a `JSON.rawJSON`. */
export type RawJson = unknown;

/** JSON.rawJSON is in Node 22, but not yet in the compiler's library. */
const json = JSON as typeof JSON & {
  rawJSON(text: string): object;
  isRawJSON(value: unknown): boolean;
};

/**
 * The most levels that we read: thirty times what a pull secret needs, and far below the limit of
 * our recursion.
 */
const mostLevels = 100;

/** A document's values, and the faults because of which the values must not be written back. */
function rawValues(tree: Tree): ReturnType<typeof valuesOf<object>> {
  return valuesOf(tree, { numeral: ({ text }) => json.rawJSON(text), depth: mostLevels });
}

/** The value of a JSON text that JSON.stringify made. */
export function valueOf(text: string): RawJson {
  const tree = treeOf(Buffer.from(text));
  return tree instanceof Fault ? null : rawValues(tree).value;
}

/** User and password as the kubelet takes them from an entry, each byte as one character. */
export function credentialOf(entry: RawJson): readonly [username: string, password: string] {
  const read = readFields(membersOf(entry));
  return "password" in read
    ? [read.username.toString("latin1"), read.password.toString("latin1")]
    : ["", ""];
}

/** Whether the kubelet's decoder accepts the entry. If not, the kubelet ignores the whole file. */
function isReadable(entry: RawJson): boolean {
  return entry === null || (isObject(entry) && "password" in readFields(membersOf(entry)));
}

/**
 * An entry in our own form. An entry that has more than a user and a password is returned
 * unchanged.
 */
export function plain(entry: RawJson): RawJson {
  if (!isObject(entry) || Object.keys(entry).some((name) => !credentialFields.has(name)))
    return entry;
  const auth = Buffer.from(credentialOf(entry).join(":"), "latin1").toString("base64");
  return { auth };
}

function membersOf(value: RawJson): [name: string, value: RawJson][] {
  return isObject(value) ? Object.entries(value) : [];
}

/** Whether a value is a JSON object. A raw number is an object only to JavaScript. */
export function isObject(value: RawJson): value is Record<string, RawJson> {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !json.isRawJSON(value)
  );
}

function isStringMap(value: RawJson): boolean {
  return (
    value === null ||
    (isObject(value) &&
      Object.values(value).every((member) => member === null || typeof member === "string"))
  );
}

// Memory. We estimate the need before parsing: a parsed value can take fifty times its text.

const quotationMark = '"'.charCodeAt(0);
const backslash = "\\".charCodeAt(0);
/** The characters before a value: a comma, or the start of a list or object. */
const valueStarts: ReadonlySet<number> = new Set([..."[{,"].map((sign) => sign.charCodeAt(0)));

/**
 * Counts the values below the top-level value. An empty list or object counts twice. Works for any
 * bytes.
 */
export function countValues(bytes: Uint8Array): number {
  let count = 0;
  for (let at = 0; at < bytes.length; at++) {
    const sign = bytes[at] ?? 0;
    if (sign === quotationMark) at = endOfString(bytes, at);
    else if (valueStarts.has(sign)) count++;
  }
  return count;
}

/** The position of the quotation mark that ends a string, or the end of the bytes. */
function endOfString(bytes: Uint8Array, start: number): number {
  let end = start;
  do end = bytes.indexOf(quotationMark, end + 1);
  while (end !== -1 && isEscaped(bytes, end));
  return end === -1 ? bytes.length : end;
}

function isEscaped(bytes: Uint8Array, at: number): boolean {
  let first = at;
  while (bytes[first - 1] === backslash) first--;
  return (at - first) % 2 === 1;
}

/**
 * Twice the limit of a Secret, so other programs' entries can take as much space as ours. The
 * largest known pull secrets have about 100 KiB.
 */
export const mostBytes = 2 * 1024 * 1024;
/**
 * The limit for the bytes plus 100 for each value. In a rollback, 2 MiB of text with 2,000 values
 * fill V8's heap of 32 MiB, because V8 stores the text with two bytes a character. 20,000 small
 * values also fill the heap. With a larger file, the agent might be killed in the middle of a step
 * (test/faults/memory.test.ts).
 */
const mostWeight = 2_300_000;
const valueWeight = 100;

/**
 * Why these bytes do not fit into the agent's memory; undefined if they fit. Bytes that do not fit
 * are neither read nor written.
 */
export function excess(bytes: Uint8Array): string | undefined {
  if (bytes.length > mostBytes) return "more than 2 MiB";
  const values = countValues(bytes);
  return bytes.length + valueWeight * values > mostWeight
    ? `${values} values in ${bytes.length} bytes, more than the agent can hold`
    : undefined;
}
