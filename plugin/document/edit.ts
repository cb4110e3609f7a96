/** Adds or removes one entry of a pull secret's document, and leaves everything else unchanged. */
import { Buffer } from "node:buffer";
import { Credential } from "#pullsecret/document/auth.ts";
import { isObject, readJson, type JsonObject } from "#pullsecret/json/json.ts";
import { imagesOf } from "#pullsecret/registry/key.ts";
import { problem, type Problem } from "#pullsecret/problems/problems.ts";

/** The edited document and the number of its entries, or why we cannot edit the document. */
export type Edited =
  | Readonly<{ ok: true; document: string; entries: number; found: boolean }>
  | Readonly<{ ok: false; problems: readonly Problem[] }>;

/** The user name must not contain a colon, because `auth` is the base64 of `user:password`. */
export type Login = Readonly<{ username: string; password: string }>;

/**
 * Sets the registry's credential. Without `login`, removes the registry's entry. Another spelling
 * of the registry counts as the same entry. `found`: the document had such an entry.
 */
export function edit(
  bytes: Uint8Array,
  registry: string,
  login: Login | undefined,
  source: string,
): Edited {
  const read = readJson(bytes);
  if (!read.ok) return refused(...read.faults.map(({ kind, path }) => problem(kind, source, path)));
  if (!isObject(read.value ?? {})) return refused(problem("notObject", source, "document"));
  const document = isObject(read.value) ? read.value : {};
  const auths = document["auths"];
  if (!isObject(auths ?? {})) return refused(problem("notObject", source, "auths"));
  const before = Object.entries(isObject(auths) ? auths : {});
  const images = imagesOf(registry);
  const others = before.filter(([key]) => imagesOf(key) !== images);
  const entry = login && new Credential(login.username, login.password).entry();
  const after: JsonObject = Object.fromEntries(
    entry === undefined ? others : [...others, [registry, { ...entry }]],
  );
  return {
    ok: true,
    document: JSON.stringify({ ...document, auths: after }),
    entries: Object.keys(after).length,
    found: others.length < before.length,
  };
}

/** A document with only this entry. */
export function documentOf(registry: string, { username, password }: Login): Buffer {
  const auths = Object.fromEntries([[registry, new Credential(username, password).entry()]]);
  return Buffer.from(JSON.stringify({ auths }));
}

const refused = (...problems: readonly Problem[]): Edited => ({ ok: false, problems });
