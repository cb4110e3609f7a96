/**
 * config.json as it lies on the node: read with the kubelet's eyes, kept with everybody's entries
 * as they are.
 *
 * The kubelet drops a whole file for one bad entry and says nothing. So an entry that would void
 * the file is left out of what we go on from (its bytes lie beside the journal and come back on
 * removal); otherwise ours would never be read.
 */
import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { decodeAuth } from "#pullsecret/auth.ts";
import { readJson } from "#pullsecret/json.ts";
import { formatPath, quote } from "#pullsecret/keypath.ts";
import { identity } from "#pullsecret/registry.ts";

/** A JSON value; numbers keep the text that they had in the file (`JSON.rawJSON`). */
export type Json = unknown;

export type NodeDocument = Readonly<{
  /** Registry key → the entry as it is in the file. */
  auths: ReadonlyMap<string, Json>;
  /** Every other top-level key. */
  rest: ReadonlyMap<string, Json>;
}>;

/**
 * `odd` means that the kubelet may read something which we could not keep; such a file is not
 * touched. `healed` says what would have made the kubelet drop the file.
 */
export type Reading =
  | Readonly<{ kind: "document"; document: NodeDocument; healed?: string }>
  | Readonly<{ kind: "odd"; why: string }>;

/** JSON.rawJSON is in Node 22, but not yet in the compiler's library. */
const json = JSON as typeof JSON & {
  rawJSON(text: string): object;
  isRawJSON(value: unknown): boolean;
};

export const emptyDocument: NodeDocument = { auths: new Map(), rest: new Map() };

/**
 * Reads config.json. Never throws; the reasons name keys of the file, redacted (a key may hold a
 * password, as in `https://user:password@host`), and never a value.
 */
export function readDocument(bytes: Uint8Array): Reading {
  // With a byte order mark the kubelet's decoder fails as JSON.parse does, so it is kept in the
  // text.
  const source = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  let top: Json;
  try {
    top = parseKeepingNumbers(source);
  } catch {
    return { kind: "document", document: emptyDocument, healed: "it is not JSON" };
  }
  if (top === null) return { kind: "document", document: emptyDocument };
  if (!isObject(top))
    return { kind: "document", document: emptyDocument, healed: "it is not a JSON object" };
  const ambiguous = ambiguity(bytes, source);
  if (ambiguous !== undefined) return { kind: "odd", why: ambiguous };
  const rest = new Map(Object.entries(top));
  // Go's decoder takes AUTHS, Auths and a long s for auths, and merges them: another spelling
  // beside ours would win or lose by order.
  const other = [...rest.keys()].find((key) => key !== "auths" && fold(key) === "auths");
  if (other !== undefined)
    return { kind: "odd", why: `the key ${quote(other)} should be spelled "auths"` };
  const found = rest.get("auths") ?? {};
  rest.delete("auths");
  const healed: string[] = [];
  for (const [key, value] of rest) {
    if (fold(key) !== "httpheaders" || isStringMap(value)) continue;
    rest.delete(key);
    healed.push(key);
  }
  const auths = new Map<string, Json>();
  if (!isObject(found)) healed.push("auths");
  else
    for (const [key, value] of Object.entries(found)) {
      if (isReadable(value)) auths.set(key, value);
      else healed.push(formatPath(["auths", key]));
    }
  const document = { auths, rest };
  if (healed.length === 0) return { kind: "document", document };
  return {
    kind: "document",
    document,
    healed: `it would drop the file for ${healed.slice(0, 3).join(", ")}`,
  };
}

/** The document as bytes: compact, or indented as `like` was; ends with a newline if that did. */
export function writeDocument(document: NodeDocument, like?: Uint8Array): Buffer {
  const head = Buffer.from(like?.subarray(0, 256) ?? []).toString("latin1");
  const indent = /^\s*\{\r?\n([ \t]{1,8})"/.exec(head)?.[1];
  const top = Object.fromEntries([["auths", Object.fromEntries(document.auths)], ...document.rest]);
  return Buffer.from(JSON.stringify(top, undefined, indent) + (like?.at(-1) === 0x0a ? "\n" : ""));
}

/**
 * Whether both say the same: order of keys and white space do not count; an empty `auths` is as
 * good as none.
 */
export function meanTheSame(one: NodeDocument, other: NodeDocument): boolean {
  return haveTheSame(one.auths, other.auths) && haveTheSame(one.rest, other.rest);
}

/** Whether the kubelet takes the same from both: a running one then has nothing new to learn. */
export function giveTheSame(one: NodeDocument, other: NodeDocument): boolean {
  return haveTheSame(one.auths, other.auths, credentialOf);
}

type Values = ReadonlyMap<string, Json>;

/**
 * One by one: the whole as one text would have as many bytes as the file. What is the very same
 * value needs no reading.
 */
function haveTheSame(
  one: Values,
  other: Values,
  of: (value: Json) => Json = (value) => value,
): boolean {
  if (one.size !== other.size) return false;
  return [...one].every(([key, value]) => {
    const there = other.get(key);
    return value === there || (other.has(key) && stable(of(value)) === stable(of(there)));
  });
}

/** One value of the document in a comparable form that tells nothing about it. */
export function digest(value: Json): string {
  const known = isObject(value) ? digests.get(value) : undefined;
  if (known !== undefined) return known;
  const made = createHash("sha256").update(stable(value)).digest("base64url");
  if (isObject(value)) digests.set(value, made);
  return made;
}

/** A merge asks several times for each of up to 1,000 entries. */
const digests = new WeakMap<object, string>();

/**
 * An entry in the form in which we write entries, where it says no more than a user and a password.
 */
export function plain(entry: Json): Json {
  if (!isObject(entry) || Object.keys(entry).some((key) => !credentialFields.has(key)))
    return entry;
  const [username, password] = credentialOf(entry);
  return { auth: Buffer.from(`${username}:${password}`, "latin1").toString("base64") };
}

/** Keys of `auths` that the kubelet takes for the same registry as `registry`. */
export function aliases(document: NodeDocument, registry: string): readonly string[] {
  return indexOf(document).get(identity(registry) ?? registry) ?? [];
}

/**
 * Registry → keys; made once for a document, since a merge asks for each of up to 1,000 entries.
 */
function indexOf(document: NodeDocument): Map<string, string[]> {
  const known = indexes.get(document);
  if (known !== undefined) return known;
  const index = new Map<string, string[]>();
  for (const key of document.auths.keys()) {
    const registry = identity(key) ?? key;
    index.set(registry, [...(index.get(registry) ?? []), key]);
  }
  indexes.set(document, index);
  return index;
}

const indexes = new WeakMap<NodeDocument, Map<string, string[]>>();

function stable(value: Json): string {
  return JSON.stringify(value, (_key, inner: Json) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).toSorted(byKey)) : inner,
  );
}

function byKey([a]: readonly [string, Json], [b]: readonly [string, Json]): number {
  return a < b ? -1 : Number(a > b);
}

const credentialFields: ReadonlySet<string> = new Set(["username", "password", "email", "auth"]);

/** User and password, each byte as one character. */
function credentialOf(entry: Json): readonly [string, string] {
  if (!isObject(entry)) return ["", ""];
  const { auth, username, password } = entry;
  const decoded = typeof auth === "string" && auth !== "" ? decodeAuth(auth) : undefined;
  if (typeof decoded === "object")
    return [decoded.username.toString("latin1"), decoded.password.toString("latin1")];
  return [bytesOf(username), bytesOf(password)];
}

/** Whether the kubelet's decoder accepts the entry; if not, it drops the whole file. */
function isReadable(entry: Json): boolean {
  if (entry === null) return true;
  if (!isObject(entry)) return false;
  return Object.entries(entry).every(([key, value]) => {
    const field = fold(key);
    if (!credentialFields.has(field)) return true;
    if (value === null) return true;
    return (
      typeof value === "string" &&
      (field !== "auth" || value === "" || typeof decodeAuth(value) === "object")
    );
  });
}

/** What two readers would understand differently, so that writing it back could lose something. */
function ambiguity(bytes: Uint8Array, source: string): string | undefined {
  const read = readJson(
    bytes,
    { bytes: bytes.length, depth: 100 },
    isUtf8(bytes) ? source : undefined,
  );
  // A number that no double can keep is written back as the text that it was.
  const fault = read.ok ? undefined : read.faults.find(({ kind }) => kind !== "number");
  return fault && `${fault.path}: ${fault.kind}`;
}

function fold(key: string): string {
  return key.replaceAll("\u017F", "s").replaceAll("\u212A", "k").toLowerCase();
}

/**
 * JSON.parse, but a number keeps its text: 1.0 and 12345678901234567890 are written back as they
 * were.
 */
export function parseKeepingNumbers(source: string): Json {
  const value = JSON.parse(source) as Json;
  // Most files have no number, and to be told the source of each value costs V8 as much memory as
  // the values.
  if (!holdsNumber(value)) return value;
  return JSON.parse(source, ((_key: string, value: unknown, context: { source?: string }) =>
    typeof value === "number" && context.source !== undefined
      ? json.rawJSON(context.source)
      : value) as (key: string, value: unknown) => unknown);
}

function holdsNumber(value: Json): boolean {
  if (typeof value !== "object" || value === null) return typeof value === "number";
  return Object.values(value).some(holdsNumber);
}

/** A number is none, although the raw JSON that keeps its text is one to JavaScript. */
function isObject(value: Json): value is Record<string, Json> {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !json.isRawJSON(value)
  );
}

function isStringMap(value: Json): boolean {
  return (
    value === null ||
    (isObject(value) &&
      Object.values(value).every((one) => one === null || typeof one === "string"))
  );
}

function bytesOf(value: Json): string {
  return typeof value === "string" ? Buffer.from(value).toString("latin1") : "";
}
