/** Adds or removes one entry of a source's Secret, if the result passes the controller's rules. */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import { secretType } from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { Credential } from "#pullsecret/document/auth.ts";
import type { Parsed } from "#pullsecret/document/parse.ts";
import { judgeSecret, partsOf } from "#pullsecret/document/secret.ts";
import { isObject, readJson, type JsonObject } from "#pullsecret/json/json.ts";
import { quote } from "#pullsecret/problems/keypath.ts";
import { imagesOf } from "#pullsecret/registry/key.ts";
import { secretPath } from "../cluster/object.ts";
import { untilUncontested } from "../cluster/read.ts";
import { Refused } from "../terminal/io.ts";
import { codedLine, type Protection, refusedFor, verdictOn } from "./verdict.ts";
import { refuseDeclared, writeDocument } from "./write.ts";

export type DocumentRewrite = Readonly<{
  secret: string;
  registry: string;
  /** The credential to set. Without a credential, we remove the entry. */
  login: Login | undefined;
  protection: Protection;
  /**
   * Called before we delete the Secret, with a line for each useless entry in it. If this function
   * throws, we do not delete the Secret.
   */
  beforeDeletion?: (useless: readonly string[]) => Promise<void>;
}>;

export type Rewritten = Readonly<{
  did: "written" | "deleted" | "nothing";
  /** The number of registries that the Secret has now. */
  entries: number;
  /** One line for each warning. */
  warnings: readonly string[];
}>;

/**
 * Reads, edits, checks and writes the Secret. If another client writes the Secret in between, we
 * start again. Creates the Secret if it does not exist. Deletes the Secret if no useful entry
 * remains, because the controller would refuse a Secret without a useful entry, and the removed
 * entry would stay in force. Throws Refused and writes nothing if the controller would refuse the
 * result, or if another tool declares the content.
 */
export async function rewrite(cluster: Cluster, change: DocumentRewrite): Promise<Rewritten> {
  return await untilUncontested(async () => {
    const live = await cluster.get<V1Secret>(secretPath(change.secret));
    return await write(cluster, live, change);
  });
}

async function write(
  cluster: Cluster,
  live: V1Secret | undefined,
  { secret, registry, login, protection, beforeDeletion }: DocumentRewrite,
): Promise<Rewritten> {
  const { type = secretType, document: before = Buffer.from("{}") } = partsOf(live ?? {});
  const judge = (document: Uint8Array) =>
    judgeSecret({ type, document }, { name: secret, role: "additional" });
  const edited = edit(before, registry, login);
  if (edited === undefined) throw refusedFor(problemsOf(judge(before)));
  const { document, entries, hadEntry } = edited;
  if (login === undefined && !hadEntry)
    throw new Refused(`${secret}: has no entry for ${quote(registry)}; nothing is written`);
  const judged = judge(document);
  if (live !== undefined && (judged.ok ? entries === 0 : login === undefined && judged.isIdle)) {
    refuseDeclared(secret, live);
    await beforeDeletion?.(problemsOf(judged).map(codedLine));
    const { uid = "", resourceVersion } = live.metadata ?? {};
    await cluster.remove(secretPath(secret), uid, resourceVersion);
    return { did: "deleted", entries, warnings: [] };
  }
  // We first check the new entry alone, because the controller accepts a Secret in which only some
  // entries are useless.
  const verdict = (bytes: Uint8Array) => verdictOn({ type, document: bytes }, protection, secret);
  if (login !== undefined) verdict(documentOf(registry, login));
  const { warnings } = verdict(document);
  if (document.equals(before)) return { did: "nothing", entries, warnings };
  await writeDocument(cluster, { secret, live, document });
  return { did: "written", entries, warnings };
}

const problemsOf = (judged: Parsed) => (judged.ok ? [] : judged.problems);

/** The edited document and the number of its entries. */
type Edited = Readonly<{ document: Buffer; entries: number; hadEntry: boolean }>;

/** The user name must not contain a colon, because `auth` is the base64 of `user:password`. */
type Login = Readonly<{ username: string; password: string }>;

/**
 * Sets the registry's credential. Without `login`, removes the registry's entry. Another spelling
 * of the registry counts as the same entry. `hadEntry`: the document had such an entry. Undefined
 * if the document cannot be edited.
 */
function edit(bytes: Uint8Array, registry: string, login: Login | undefined): Edited | undefined {
  const read = readJson(bytes);
  if (!read.ok || !isObject(read.value ?? {})) return undefined;
  const document = isObject(read.value) ? read.value : {};
  const auths = document["auths"];
  if (!isObject(auths ?? {})) return undefined;
  const before = Object.entries(isObject(auths) ? auths : {});
  const images = imagesOf(registry);
  const others = before.filter(([key]) => imagesOf(key) !== images);
  const entry = login && new Credential(login.username, login.password).entry();
  const after: JsonObject = Object.fromEntries(
    entry === undefined ? others : [...others, [registry, { ...entry }]],
  );
  return {
    document: Buffer.from(JSON.stringify({ ...document, auths: after })),
    entries: Object.keys(after).length,
    hadEntry: others.length < before.length,
  };
}

/** A document with only this entry. */
function documentOf(registry: string, { username, password }: Login): Buffer {
  const auths = Object.fromEntries([[registry, new Credential(username, password).entry()]]);
  return Buffer.from(JSON.stringify({ auths }));
}
