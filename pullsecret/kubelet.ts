/**
 * config.json as the kubelet reads it (DockerConfigJSON through Go's encoding/json), for any bytes.
 * It is laxer than parse(): field names in any case, duplicates merged, bad UTF-8 replaced; and
 * harsher: one bad entry drops the whole file.
 */
import { Buffer } from "node:buffer";
import { decodeAuth } from "./auth.ts";
import { fold } from "./fold.ts";
import { formatPath, type Steps } from "./keypath.ts";
import type { ProblemKind } from "./problems.ts";
import { Fault, Members, readText, type Tree } from "./text.ts";

/** Bytes, because `auth` may hold what is no text. */
export type KubeletEntry = Readonly<{ key: string; username: Buffer; password: Buffer }>;

/**
 * What the kubelet holds after reading; or why it drops the file, and the registries that it would
 * have had.
 */
export type KubeletRead =
  | Readonly<{ ok: true; entries: readonly KubeletEntry[] }>
  | Readonly<{ ok: false; kind: ProblemKind; path: string; keys: readonly string[] }>;

/** encoding/json gives up beyond this many levels. */
const depth = 10_000;

/** Reads a file as the kubelet does. Never throws. */
export function readAsKubelet(bytes: Uint8Array): KubeletRead {
  const tree = readText(decodeText(bytes), depth);
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
    if (!(tree instanceof Members)) return this.#drop("notObject", []);
    for (const [index, name] of tree.names.entries()) {
      const value = tree.values[index] ?? null;
      const known = fold(name);
      if (known === "auths") this.#auths(value);
      else if (known === "httpheaders") this.#headers(value);
    }
  }

  /** Several objects add up; null forgets what came before. */
  #auths(tree: Tree): void {
    if (tree === null) this.entries = new Map();
    else if (!(tree instanceof Members)) this.#drop("notObject", ["auths"]);
    else {
      for (const [index, name] of tree.names.entries()) {
        const key = name.toWellFormed();
        this.entries.set(key, this.#entry(key, tree.values[index] ?? null));
      }
    }
  }

  #headers(tree: Tree): void {
    const strings =
      tree instanceof Members &&
      tree.values.every((value) => value === null || typeof value === "string");
    if (tree !== null && !strings) this.#drop("notStringMap", ["HttpHeaders"]);
  }

  #entry(key: string, tree: Tree): KubeletEntry {
    const path = ["auths", key];
    const fields: Record<string, string> = { username: "", password: "", email: "", auth: "" };
    if (tree !== null && !(tree instanceof Members)) this.#drop("notObject", path);
    if (tree instanceof Members) {
      for (const [index, name] of tree.names.entries()) {
        const value = tree.values[index] ?? null;
        const known = fold(name);
        if (!Object.hasOwn(fields, known) || value === null) continue;
        if (typeof value === "string") fields[known] = value.toWellFormed();
        else this.#drop("notString", [...path, known]);
      }
    }
    const { username = "", password = "", auth = "" } = fields;
    if (auth === "")
      return { key, username: Buffer.from(username), password: Buffer.from(password) };
    const decoded = decodeAuth(auth);
    if (typeof decoded === "object")
      return { key, username: decoded.username, password: decoded.password };
    this.#drop(decoded === "no colon" ? "noColon" : "notBase64", [...path, "auth"]);
    return { key, username: Buffer.alloc(0), password: Buffer.alloc(0) };
  }

  #drop(kind: ProblemKind, path: Steps): void {
    this.fault ??= { kind, path: formatPath(path) };
  }
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** Well-formed UTF-8 as binary characters (Unicode table 3-7), else one single byte. */
const sequence =
  /[^\x80-\xff]+|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}|([^])/g;

/**
 * UTF-8 as Go reads it: every byte that is no part of a character becomes U+FFFD by itself (the web
 * makes one of several).
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
