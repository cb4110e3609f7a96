/** The content of a SyncSecret as one map, like the data of a Secret. Pure. */
import { Buffer } from "node:buffer";
import type { SyncSecret } from "#api/sync-secret.ts";
import { sentence } from "./problems.ts";

/** Key → standard base64, padded, without line breaks: the form in which a Secret is stored. */
export type Data = Readonly<Record<string, string>>;

export type SyncContent = Readonly<{ type: NonNullable<SyncSecret["type"]>; data: Data }>;

type Held = Pick<SyncSecret, "data" | "stringData" | "type">;

type JudgedObject =
  | Readonly<{ ok: true; content: SyncContent }>
  | Readonly<{ ok: false; message: string }>;

/**
 * A key that the API server accepts in a Secret: at most 253 characters, and neither `.`, `..` nor
 * a name that begins with `..`, because keys become file names.
 */
const keyName = /^(?!\.{1,2}$|\.\.)[-._a-zA-Z0-9]{1,253}$/;

/**
 * The limits of the copy, whose data contains the keys of both maps, data and stringData. The CRD's
 * schema has the same limits. But the schema counts the keys of each map separately, and counts
 * characters instead of bytes.
 */
const mostKeys = 64;
const mostBytes = 256 * 1024;

/**
 * Type → the keys that the API server requires of such a Secret. One key of an inner list is
 * enough.
 */
const needed: Readonly<Partial<Record<SyncContent["type"], readonly (readonly string[])[]>>> = {
  "kubernetes.io/tls": [["tls.crt"], ["tls.key"]],
  "kubernetes.io/dockerconfigjson": [[".dockerconfigjson"]],
  "kubernetes.io/basic-auth": [["username", "password"]],
  "kubernetes.io/ssh-auth": [["ssh-privatekey"]],
};

/**
 * The content: data and stringData as one map, in which stringData wins, as in a Secret. If the API
 * server would refuse such a Secret, the reason. A message may name a valid key, and never shows a
 * value.
 */
export function judge({ data = {}, stringData = {}, type = "Opaque" }: Held): JudgedObject {
  const refused = (message: string) => ({ ok: false as const, message });
  const names = [...Object.keys(data), ...Object.keys(stringData)];
  if (names.some((name) => !keyName.test(name))) return refused(sentence("keyName"));
  // The schema accepts only base64. Go's decoder drops the bits after the last byte, so the API
  // server returns a Secret without them.
  const stored = Object.entries(data).map(([name, text]) => [
    name,
    encode(Buffer.from(text, "base64")),
  ]);
  const folded = Object.entries(stringData).map(([name, text]) => [
    name,
    encode(Buffer.from(text)),
  ]);
  const all: Data = Object.fromEntries([...stored, ...folded]);
  const size = Object.values(all).reduce((sum, text) => sum + Buffer.byteLength(text, "base64"), 0);
  if (Object.keys(all).length > mostKeys) return refused(sentence("tooManyKeys", `${mostKeys}`));
  if (size > mostBytes) return refused(sentence("tooLarge", `${mostBytes}`));
  const lacking = needed[type]?.find((keys) => !keys.some((key) => Object.hasOwn(all, key)));
  if (lacking !== undefined) return refused(sentence("missingKey", lacking.join(" or ")));
  const document = ".dockerconfigjson";
  if (type === "kubernetes.io/dockerconfigjson" && !isDocument(all[document] ?? ""))
    return refused(sentence("notDocument", document));
  return { ok: true, content: { type, data: all } };
}

const encode = (bytes: Buffer): string => bytes.toString("base64");

function isDocument(text: string): boolean {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, "base64").toString("utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false; // the parser's message quotes the text
  }
}

/** True if two maps have the same keys with the same values. */
export function sameData(one: Data, other: Data): boolean {
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && one[name] === other[name])
  );
}
