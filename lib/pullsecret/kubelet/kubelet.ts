/**
 * config.json as the kubelet reads it (DockerConfigJSON through Go's encoding/json), for any bytes.
 * The kubelet is more lenient than parse(): it accepts field names in any case, merges duplicates,
 * and replaces bad UTF-8. The kubelet is also stricter: because of one bad entry it drops the whole
 * file.
 */
import { Buffer } from "node:buffer";
import { decodeAuth } from "../document/auth.ts";
import { fold } from "../json/json.ts";
import { formatPath, type Steps } from "../problems/keypath.ts";
import type { ProblemKind } from "../problems/problems.ts";
import { Fault, JsonMembers, readText, type Tree } from "../json/text.ts";

/** Bytes, because `auth` can contain bytes that are not text. */
type KubeletCredential = Readonly<{ username: Buffer; password: Buffer }>;

export type KubeletEntry = Readonly<{ key: string }> & KubeletCredential;

/**
 * The entries that the kubelet reads; or why it drops the file, and the registries in that file.
 */
export type KubeletRead =
  | Readonly<{ ok: true; entries: readonly KubeletEntry[] }>
  | Readonly<{ ok: false; kind: ProblemKind; path: string; keys: readonly string[] }>;

/** Go's encoding/json reports an error beyond this many levels. */
const depth = 10_000;

/** A file as Go's encoding/json decodes it; a fault if Go reports an error. Never throws. */
export function treeOf(bytes: Uint8Array): Tree | Fault {
  return readText(decodeText(bytes), depth);
}

/** Reads a file as the kubelet does. Never throws. */
export function readAsKubelet(bytes: Uint8Array): KubeletRead {
  const tree = treeOf(bytes);
  if (tree instanceof Fault) return { ok: false, kind: tree.kind, path: "document", keys: [] };
  const reader = new Reader();
  reader.document(tree);
  const { fault, entries } = reader;
  if (fault !== undefined) return { ok: false, ...fault, keys: [...entries.keys()] };
  return { ok: true, entries: [...entries.values()] };
}

class Reader {
  /** A registry that occurs twice counts once, with its last entry. */
  entries = new Map<string, KubeletEntry>();
  fault: { kind: ProblemKind; path: string } | undefined;

  document(tree: Tree): void {
    if (tree === null) return;
    if (!(tree instanceof JsonMembers)) return this.#drop("notObject", []);
    for (const [name, value] of tree.members()) {
      const foldedName = fold(name);
      if (foldedName === "auths") this.#auths(value);
      else if (foldedName === "httpheaders") this.#headers(value);
    }
  }

  /**
   * Several `auths` objects are merged. A null in place of an object removes all entries before the
   * null.
   */
  #auths(tree: Tree): void {
    if (tree === null) this.entries = new Map();
    else if (!(tree instanceof JsonMembers)) this.#drop("notObject", ["auths"]);
    else {
      for (const [name, value] of tree.members()) {
        const key = name.toWellFormed();
        this.entries.set(key, this.#entry(key, value));
      }
    }
  }

  #headers(tree: Tree): void {
    const strings =
      tree instanceof JsonMembers &&
      tree.values.every((value) => value === null || typeof value === "string");
    if (tree !== null && !strings) this.#drop("notStringMap", ["HttpHeaders"]);
  }

  #entry(key: string, tree: Tree): KubeletEntry {
    const path = ["auths", key];
    if (tree !== null && !(tree instanceof JsonMembers)) this.#drop("notObject", path);
    const read = readFields(tree instanceof JsonMembers ? tree.members() : []);
    if ("password" in read) return { key, ...read };
    this.#drop(read.kind, [...path, read.field]);
    return { key, ...nobody };
  }

  #drop(kind: ProblemKind, path: Steps): void {
    this.fault ??= { kind, path: formatPath(path) };
  }
}

const nobody = { username: Buffer.alloc(0), password: Buffer.alloc(0) } as const;

/** The fields of an entry that the kubelet decodes, each into a string. */
export const credentialFields: ReadonlySet<string> = new Set([
  "username",
  "password",
  "email",
  "auth",
]);

/**
 * The credential that the kubelet takes from the members of one entry, in their order; or the first
 * field for which it drops the whole file.
 */
export function readFields(
  members: Iterable<readonly [name: string, value: unknown]>,
): KubeletCredential | Readonly<{ kind: ProblemKind; field: string }> {
  const read: Record<string, string> = {};
  for (const [name, value] of members) {
    const field = fold(name);
    if (!credentialFields.has(field) || value === null) continue;
    if (typeof value !== "string") return { kind: "notString", field };
    read[field] = value.toWellFormed();
  }
  const { username = "", password = "", auth = "" } = read;
  if (auth === "") return { username: Buffer.from(username), password: Buffer.from(password) };
  const decoded = decodeAuth(auth);
  if (typeof decoded === "object")
    return { username: decoded.username, password: decoded.password };
  return { kind: decoded === "no colon" ? "noColon" : "notBase64", field: "auth" };
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/**
 * Matches a well-formed UTF-8 character in a binary string (Unicode table 3-7), or a single bad
 * byte.
 */
const sequence =
  /[^\x80-\xff]+|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}|([^])/g;

/**
 * UTF-8 as Go reads it: every byte that is not part of a character becomes U+FFFD by itself (a web
 * decoder replaces several such bytes by one U+FFFD).
 */
function decodeText(bytes: Uint8Array): string {
  try {
    return strictUtf8.decode(bytes);
  } catch {
    const binary = Buffer.from(bytes).toString("latin1");
    const mended = binary.replace(sequence, (text, bad?: string) =>
      bad === undefined ? text : "\xef\xbf\xbd",
    );
    return Buffer.from(mended, "latin1").toString("utf8");
  }
}
