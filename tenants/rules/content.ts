/**
 * Merges the content of a SyncSecret into one map, like the data of a Secret, and checks it. Pure.
 */
import { Buffer } from "node:buffer";
import { isFields } from "#contract/fields.ts";
import type { SyncSecret } from "#api/sync-secret.ts";
import type { Data } from "#kube/apply/copy.ts";
import { sentence } from "./problems.ts";

export type SyncContent = Readonly<{ type: NonNullable<SyncSecret["type"]>; data: Data }>;

export type Held = Pick<SyncSecret, "data" | "stringData" | "type">;

type JudgedObject =
  | Readonly<{ ok: true; content: SyncContent }>
  | Readonly<{ ok: false; message: string }>;

/**
 * A key that the API server accepts in a Secret: at most 253 characters, not `.`, and not beginning
 * with `..`, because keys become file names.
 */
const keyName = /^(?!\.{1,2}$|\.\.)[-._a-zA-Z0-9]{1,253}$/;

/**
 * The limits of a copy. Its data contains the keys of both `data` and `stringData`. The CRD's
 * schema has the same limits, but it counts the keys of each map separately, and characters instead
 * of bytes.
 */
const mostKeys = 64;
const mostBytes = 256 * 1024;

/**
 * Type → the keys that the API server requires in a Secret of this type: one key of each inner
 * list.
 */
const needed: Readonly<Partial<Record<SyncContent["type"], readonly (readonly string[])[]>>> = {
  "kubernetes.io/tls": [["tls.crt"], ["tls.key"]],
  "kubernetes.io/dockerconfigjson": [[".dockerconfigjson"]],
  "kubernetes.io/dockercfg": [[".dockercfg"]],
  "kubernetes.io/basic-auth": [["username", "password"]],
  "kubernetes.io/ssh-auth": [["ssh-privatekey"]],
};

/** Type → the key with a JSON document. */
const documents: Readonly<Record<string, string>> = {
  "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
  "kubernetes.io/dockercfg": ".dockercfg",
};

/**
 * Merges `data` and `stringData` as in a Secret, with priority for `stringData`. If the API server
 * would refuse such a Secret, returns the reason. The reason can name a valid key, but never
 * contains a value.
 */
export function checkedContent({
  data = {},
  stringData = {},
  type = "Opaque",
}: Held): JudgedObject {
  const refused = (message: string) => ({ ok: false as const, message });
  const names = [...Object.keys(data), ...Object.keys(stringData)];
  if (names.some((name) => !keyName.test(name))) return refused(sentence("keyName"));
  // Encodes the decoded bytes again, to drop base64 bits after the last byte. The API server drops
  // them too when it stores a Secret.
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
  const document = documents[type];
  if (document !== undefined && !isDocument(all[document] ?? ""))
    return refused(sentence("notDocument", document));
  return { ok: true, content: { type, data: all } };
}

const encode = (bytes: Buffer): string => bytes.toString("base64");

function isDocument(text: string): boolean {
  try {
    return isFields(JSON.parse(Buffer.from(text, "base64").toString("utf8")));
  } catch {
    return false; // We drop the parser's message, because it quotes the text.
  }
}
