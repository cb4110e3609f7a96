/** Requests for SyncSecrets. Both sides use them. */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { SyncSecret } from "#api/sync-secret.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { apiVersion } from "./rules/copies.ts";

const group = `/apis/${apiVersion}`;

/** The collection of SyncSecrets in every namespace. */
export const allSyncSecrets = `${group}/syncsecrets`;
export const syncSecretsIn = (namespace: string): string =>
  `${group}/namespaces/${namespace}/syncsecrets`;

/** Path of an object in its collection. */
export const pathOf = ({ namespace = "", name = "" }: V1ObjectMeta): string =>
  `${syncSecretsIn(namespace)}/${name}`;

/**
 * The metadata of all objects in a collection, without their content, so that the list stays small.
 */
export async function metadataOf(
  cluster: Cluster,
  path: string,
  query: Readonly<Record<string, string>> = {},
): Promise<V1ObjectMeta[]> {
  const objects: V1ObjectMeta[] = [];
  await cluster.pages<{ metadata: V1ObjectMeta }>(
    path,
    query,
    (page) => void objects.push(...page.map(({ metadata }) => metadata)),
    { as: "metadata" },
  );
  return objects;
}

/**
 * Reads the object again. Undefined if it is gone, or if its name now belongs to an object with
 * another UID.
 */
export async function readObject(
  cluster: Cluster,
  metadata: V1ObjectMeta,
): Promise<SyncSecret | undefined> {
  const object = await cluster.get<SyncSecret>(pathOf(metadata));
  return object?.metadata.uid === metadata.uid ? object : undefined;
}
