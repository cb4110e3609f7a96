/** Adds or removes one entry of a source's Secret, if the result passes the controller's rules. */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import { namespace, secretKeys, secretType } from "#contract/names.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections } from "#kube/client/paths.ts";
import { parse } from "#pullsecret/document/parse.ts";
import { quote } from "#pullsecret/problems/keypath.ts";
import { undoneBy } from "#kube/client/declared-by.ts";
import { pluginManager } from "#kube/client/ownership.ts";
import { secretPath } from "../cluster/object.ts";
import { Refused } from "../terminal/io.ts";
import { codedLine, type Protection, verdictOn } from "./verdict.ts";
import { Credential } from "#pullsecret/document/auth.ts";
import { isObject, readJson, type JsonObject } from "#pullsecret/json/json.ts";
import { imagesOf } from "#pullsecret/registry/key.ts";
import { problem, type Problem } from "#pullsecret/problems/problems.ts";

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
  did: "created" | "changed" | "deleted" | "nothing";
  /** The number of registries that the Secret has now. */
  entries: number;
  /** One line for each warning. */
  warnings: readonly string[];
}>;

/**
 * Maximum number of attempts at a write. If all attempts end in a conflict, another client writes
 * the Secret all the time.
 */
const attempts = 5;

/**
 * Reads, edits, checks and writes the Secret. If another client writes the Secret in between, we
 * start again. Creates the Secret if it does not exist. Deletes the Secret if no useful entry
 * remains, because the controller would refuse a Secret without a useful entry, and the removed
 * entry would stay in force. Throws Refused and writes nothing if the controller would refuse the
 * result, or if another tool declares the content.
 */
export async function rewrite(cluster: Cluster, change: DocumentRewrite): Promise<Rewritten> {
  for (let attempt = 1; ; attempt += 1) {
    const live = await cluster.get<V1Secret>(secretPath(change.secret));
    try {
      return await write(cluster, live, change);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409 || attempt === attempts) throw error;
    }
  }
}

async function write(
  cluster: Cluster,
  live: V1Secret | undefined,
  { secret, registry, login, protection, beforeDeletion }: DocumentRewrite,
): Promise<Rewritten> {
  refuseForeign(live, secret);
  const text = live?.data?.[secretKeys.document];
  const before = Buffer.from(text ?? btoa("{}"), "base64");
  const edited = edit(before, registry, login, secret);
  if (!edited.ok) throw new Refused(edited.problems.map(codedLine).join("\n"));
  const { document, entries, hadEntry } = edited;
  if (login === undefined && !hadEntry)
    throw new Refused(`${secret}: has no entry for ${quote(registry)}; nothing is written`);
  const parsed = parse(Buffer.from(document), { name: secret, role: "additional" });
  if (live !== undefined && (parsed.ok ? entries === 0 : login === undefined && parsed.isIdle)) {
    await beforeDeletion?.(parsed.ok ? [] : parsed.problems.map(codedLine));
    const { uid = "", resourceVersion } = live.metadata ?? {};
    await cluster.remove(secretPath(secret), uid, resourceVersion);
    return { did: "deleted", entries, warnings: [] };
  }
  // We first check the new entry alone, because the controller accepts a Secret in which only some
  // entries are useless.
  if (login !== undefined) verdictOn(documentOf(registry, login), protection);
  const { warnings } = verdictOn(Buffer.from(document), protection);
  if (document === before.toString("utf8")) return { did: "nothing", entries, warnings };
  if (live?.immutable === true)
    throw new Refused(
      `${secret}: is immutable; nothing is written: delete it, then add all its credentials again`,
    );
  const data = { ...live?.data, [secretKeys.document]: Buffer.from(document).toString("base64") };
  if (live === undefined) await cluster.create(collections.secrets, newSecret(secret, data));
  else await cluster.replace(secretPath(secret), { ...live, ...kind, data });
  return { did: live === undefined ? "created" : "changed", entries, warnings };
}

function refuseForeign(live: V1Secret | undefined, secret: string): void {
  if (live === undefined) return;
  if (live.type !== secretType)
    throw new Refused(
      `${secret}: type is ${live.type}; the type cannot be changed: delete the Secret, then add again`,
    );
  const path = ["data", secretKeys.document];
  // We ignore annotations, so that we accept a Secret that a person created by `kubectl apply`.
  const { annotations: _, ...metadata } = live.metadata ?? {};
  const who = undoneBy(metadata, path, [pluginManager]);
  if (who !== undefined)
    throw new Refused(
      `${secret}: declared by ${JSON.stringify(who)}, which would revert the change; nothing is written: ` +
        "change it where that tool reads it",
    );
}

const kind = { apiVersion: "v1", kind: "Secret" } as const;

function newSecret(name: string, data: V1Secret["data"]): object {
  return { ...kind, metadata: { name, namespace }, type: secretType, data };
}

/** The edited document and the number of its entries, or why we cannot edit the document. */
type Edited =
  | Readonly<{ ok: true; document: string; entries: number; hadEntry: boolean }>
  | Readonly<{ ok: false; problems: readonly Problem[] }>;

/** The user name must not contain a colon, because `auth` is the base64 of `user:password`. */
type Login = Readonly<{ username: string; password: string }>;

/**
 * Sets the registry's credential. Without `login`, removes the registry's entry. Another spelling
 * of the registry counts as the same entry. `found`: the document had such an entry.
 */
function edit(
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
    hadEntry: others.length < before.length,
  };
}

/** A document with only this entry. */
function documentOf(registry: string, { username, password }: Login): Buffer {
  const auths = Object.fromEntries([[registry, new Credential(username, password).entry()]]);
  return Buffer.from(JSON.stringify({ auths }));
}

const refused = (...problems: readonly Problem[]): Edited => ({ ok: false, problems });
