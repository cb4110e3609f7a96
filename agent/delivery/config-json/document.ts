/**
 * config.json as it lies on the node: read with the kubelet's eyes, kept with everybody's entries
 * as they are.
 *
 * The kubelet drops a whole file for one bad entry and says nothing. So an entry that would void
 * the file is left out of what we go on from (its bytes lie beside the journal and come back on
 * removal); otherwise ours would never be read.
 */
import { fold, notUtf8 } from "#pullsecret/json/json.ts";
import { formatPath, quote } from "#pullsecret/problems/keypath.ts";
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
 * `odd` means that the kubelet may read something which we could not keep; such a file is not
 * touched. `invalid` says what would have made the kubelet drop the file.
 */
export type Reading =
  | Readonly<{ kind: "document"; document: NodeDocument; invalid?: string }>
  | Readonly<{ kind: "odd"; why: string }>;

export const emptyDocument: NodeDocument = { auths: new Map(), rest: new Map() };

/**
 * Reads config.json. Never throws; the reasons name keys of the file, redacted (a key may hold a
 * password, as in `https://user:password@host`), and never a value.
 */
export function readDocument(bytes: Uint8Array): Reading {
  const tree = treeOf(bytes);
  if (tree instanceof Fault)
    return { kind: "document", document: emptyDocument, invalid: "it is not JSON" };
  if (tree === null) return { kind: "document", document: emptyDocument };
  if (!(tree instanceof JsonMembers))
    return { kind: "document", document: emptyDocument, invalid: "it is not a JSON object" };
  const { value, faults } = rawValues(tree);
  // What two readers would understand differently, so that writing it back could lose something.
  const [fault = notUtf8(bytes)] = faults;
  if (fault !== undefined) return { kind: "odd", why: `${fault.path}: ${fault.kind}` };
  const rest = new Map(membersOf(value));
  // Go's decoder takes AUTHS, Auths and a long s for auths, and merges them: another spelling
  // beside ours would win or lose by order.
  const other = [...rest.keys()].find((key) => key !== "auths" && fold(key) === "auths");
  if (other !== undefined)
    return { kind: "odd", why: `the key ${quote(other)} should be spelled "auths"` };
  const found = rest.get("auths") ?? {};
  rest.delete("auths");
  const invalid: string[] = [];
  for (const [key, value] of rest) {
    if (fold(key) !== "httpheaders" || isStringMap(value)) continue;
    rest.delete(key);
    invalid.push(key);
  }
  const auths = new Map<string, RawJson>();
  if (!isObject(found)) invalid.push("auths");
  else
    for (const [key, value] of Object.entries(found)) {
      if (isReadable(value)) auths.set(key, value);
      else invalid.push(formatPath(["auths", key]));
    }
  const document = { auths, rest };
  if (invalid.length === 0) return { kind: "document", document };
  return {
    kind: "document",
    document,
    invalid: `it would drop the file for ${invalid.slice(0, 3).join(", ")}`,
  };
}

/** The document as bytes: compact, or indented as `like` was; ends with a newline if that did. */
export function writeDocument(document: NodeDocument, like?: Uint8Array): Buffer {
  const head = Buffer.from(like?.subarray(0, 256) ?? []).toString("latin1");
  const indent = /^\s*\{\r?\n([ \t]{1,8})"/.exec(head)?.[1];
  const top = Object.fromEntries([["auths", Object.fromEntries(document.auths)], ...document.rest]);
  return Buffer.from(JSON.stringify(top, undefined, indent) + (like?.at(-1) === 0x0a ? "\n" : ""));
}

// Values. The agent needs two views: what it writes back, in which a number keeps its text (1.0,
// 12345678901234567890), and what the kubelet takes from an entry.

/** A JSON value that JSON.stringify writes as it was; a number is `JSON.rawJSON`. */
export type RawJson = unknown;

/** JSON.rawJSON is in Node 22, but not yet in the compiler's library. */
const json = JSON as typeof JSON & {
  rawJSON(text: string): object;
  isRawJSON(value: unknown): boolean;
};

/** Thirty times what a pull secret needs; recursion over the values ends long after. */
const mostLevels = 100;

/** A document's values as they are written back, and why they should not be, if so. */
function rawValues(tree: Tree): ReturnType<typeof valuesOf<object>> {
  return valuesOf(tree, { numeral: ({ text }) => json.rawJSON(text), depth: mostLevels });
}

/** The value of a JSON text that JSON.stringify made of one. */
export function valueOf(text: string): RawJson {
  const tree = treeOf(Buffer.from(text));
  return tree instanceof Fault ? null : rawValues(tree).value;
}

/** User and password that the kubelet takes from an entry, each byte as one character. */
export function credentialOf(entry: RawJson): readonly [username: string, password: string] {
  const read = readFields(membersOf(entry));
  return "password" in read
    ? [read.username.toString("latin1"), read.password.toString("latin1")]
    : ["", ""];
}

/** Whether the kubelet's decoder accepts the entry; if not, it drops the whole file. */
function isReadable(entry: RawJson): boolean {
  return entry === null || (isObject(entry) && "password" in readFields(membersOf(entry)));
}

/**
 * An entry as we write entries. One that says more than a user and a password is returned as it is.
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

/** Whether a value is a JSON object; a raw number is an object to JavaScript only. */
export function isObject(value: RawJson): value is Record<string, RawJson> {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !json.isRawJSON(value)
  );
}

function isStringMap(value: RawJson): boolean {
  return (
    value === null ||
    (isObject(value) &&
      Object.values(value).every((one) => one === null || typeof one === "string"))
  );
}

// Size. Estimated before parsing: a parsed value may take fifty times its bytes.

const quotationMark = '"'.charCodeAt(0);
const backslash = "\\".charCodeAt(0);
/** What comes before a value: a comma, or the start of what holds it. */
const valueStarts: ReadonlySet<number> = new Set([..."[{,"].map((sign) => sign.charCodeAt(0)));

/**
 * Counts the values below the top one; an empty list or object counts twice. Works for any bytes,
 * JSON or not.
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

/** The position of the quotationMark that ends a string, or the end of the bytes. */
function endOfString(bytes: Uint8Array, start: number): number {
  let end = start;
  do end = bytes.indexOf(quotationMark, end + 1);
  while (end > 0 && isEscaped(bytes, end));
  return end < 0 ? bytes.length : end;
}

function isEscaped(bytes: Uint8Array, at: number): boolean {
  let first = at;
  while (bytes[first - 1] === backslash) first--;
  return (at - first) % 2 === 1;
}

/**
 * Twice what a Secret may hold: as much of others' as of ours. The largest known pull secrets have
 * some 100 KiB.
 */
export const mostBytes = 2 * 1024 * 1024;
/**
 * Bytes, with 100 for each value: 2 MiB of text that V8 keeps in two bytes a character, with 2,000
 * values, fill its heap of 32 MiB in a rollback as 20,000 small ones do. With more the agent may be
 * killed in the middle of a step (test/faults/memory.test.ts).
 */
const mostWeight = 2_300_000;
const valueWeight = 100;

/** What exceeds the agent's memory, if anything: such bytes are neither read nor written. */
export function excess(bytes: Uint8Array): string | undefined {
  if (bytes.length > mostBytes) return "more than 2 MiB";
  const values = countValues(bytes);
  return bytes.length + valueWeight * values > mostWeight
    ? `${values} values in ${bytes.length} bytes, more than the agent can hold`
    : undefined;
}
