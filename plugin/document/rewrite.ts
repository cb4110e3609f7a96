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
import { secretPath } from "../cluster/secrets.ts";
import { Refused } from "../terminal/io.ts";
import { documentOf, edit, type Login } from "./edit.ts";
import { codedLine, type Protection, verdictOn } from "./verdict.ts";

export type DocumentRewrite = Readonly<{
  secret: string;
  registry: string;
  /** The credential to set. Without a credential, we remove the entry. */
  login: Login | undefined;
  protection: Protection;
  /**
   * Called before the Secret is deleted, with a line for each useless entry that is deleted with
   * it. If this function throws, the Secret is not deleted.
   */
  beforeDeletion?: (useless: readonly string[]) => Promise<void>;
}>;

export type Rewritten = Readonly<{
  did: "created" | "changed" | "deleted" | "nothing";
  /** The number of registries that the Secret has now. */
  entries: number;
  /** Warnings, a line each. */
  warnings: readonly string[];
}>;

/**
 * Maximum number of attempts at a write. A conflict means that another client wrote in between. If
 * every attempt ends in a conflict, that client writes all the time.
 */
const attempts = 5;

/**
 * Reads, edits, checks and writes the Secret. If another client writes it in between, we start
 * again. Creates the Secret if it does not exist, and deletes it if no useful entry is left. The
 * controller would refuse a Secret without a useful entry, and the removed entry would stay in
 * force. Throws Refused and writes nothing if the controller would refuse the result, or if another
 * tool declares the content.
 */
export async function rewrite(cluster: Cluster, wanted: DocumentRewrite): Promise<Rewritten> {
  for (let attempt = 1; ; attempt += 1) {
    const live = await cluster.get<V1Secret>(secretPath(wanted.secret));
    try {
      return await write(cluster, live, wanted);
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
  const { document, entries, found } = edited;
  if (login === undefined && !found)
    throw new Refused(`${secret}: has no entry for ${quote(registry)}; nothing is written`);
  const left = parse(Buffer.from(document), { name: secret, role: "additional" });
  if (live !== undefined && (left.ok ? entries === 0 : login === undefined && left.isIdle)) {
    await beforeDeletion?.(left.ok ? [] : left.problems.map(codedLine));
    const { uid = "", resourceVersion } = live.metadata ?? {};
    await cluster.remove(secretPath(secret), uid, resourceVersion);
    return { did: "deleted", entries, warnings: [] };
  }
  // First we check the new entry alone. Among other entries, the controller would accept the Secret
  // and only leave out a useless entry.
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
  // A person's `kubectl apply` is not a reason to refuse, because many people create this Secret
  // with it.
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
