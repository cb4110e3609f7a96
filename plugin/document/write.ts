/** Writes the document of a source's Secret. Every command that changes credentials uses it. */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import { namespace, secretKeys, secretType } from "#contract/names.ts";
import { newborn, type Cluster } from "#kube/client/cluster.ts";
import { undoneBy } from "#kube/client/declared-by.ts";
import { pluginManager as manager } from "#kube/client/ownership.ts";
import { secretPath } from "../cluster/object.ts";
import { Refused } from "../terminal/io.ts";

export type DocumentWrite = Readonly<{
  secret: string;
  /** The Secret as it was read. Undefined if it does not exist. */
  live: V1Secret | undefined;
  document: Uint8Array;
  /** Take the field over from a tool that declares it. */
  overTools?: boolean;
  dryRun?: boolean;
}>;

/**
 * Writes the document by server-side apply, and returns the Secret. Fails with 409 if the Secret
 * was changed, created or deleted since it was read. Throws Refused as `refuseUnwritable` does.
 * Takes the field over from people, who wrote it with kubectl.
 */
export async function writeDocument(cluster: Cluster, write: DocumentWrite): Promise<V1Secret> {
  refuseUnwritable(write);
  const { secret, live, document, dryRun = false } = write;
  const { uid, resourceVersion = newborn } = live?.metadata ?? {};
  const body = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: secret, namespace, uid, resourceVersion },
    type: secretType,
    data: { [secretKeys.document]: Buffer.from(document).toString("base64") },
  };
  // With force, we take over fields that people wrote. Fields of tools are refused above.
  return cluster.apply(secretPath(secret), body, { manager, force: true, dryRun });
}

/**
 * Throws Refused if the Secret is immutable or being deleted, or if a tool declares the document.
 */
export function refuseUnwritable({
  secret,
  live,
  overTools = false,
}: Pick<DocumentWrite, "secret" | "live" | "overTools">): void {
  if (live?.immutable === true)
    throw new Refused(
      `${secret}: is immutable; nothing is written: delete it, then write all its credentials again`,
    );
  if (live?.metadata?.deletionTimestamp !== undefined)
    throw new Refused(`${secret}: is being deleted; nothing is written: try again when it is gone`);
  if (!overTools) refuseDeclared(secret, live);
}

/** Field manager of `kubectl apply --server-side`. */
const person = "kubectl";

/**
 * Throws Refused if a tool declares the document, because the tool would revert any change. We
 * ignore annotations, so that we accept a Secret that a person created by `kubectl apply`.
 */
export function refuseDeclared(secret: string, live: V1Secret | undefined): void {
  const { annotations: _, ...metadata } = live?.metadata ?? {};
  const tool = undoneBy(metadata, ["data", secretKeys.document], [manager, person]);
  if (tool !== undefined)
    throw new Refused(
      `${secret}: declared by ${JSON.stringify(tool)}, which would revert the change; nothing is written: ` +
        "change it where that tool reads it, or take it over with apply --force-conflicts",
    );
}
