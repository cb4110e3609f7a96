/** Requests for SyncSecrets. Both sides use them. */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { SyncSecret, SyncSecretStatus } from "#api/sync-secret.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { apiVersion } from "./rules/copies.ts";

const group = `/apis/${apiVersion}`;

/** The collection of SyncSecrets in every namespace. */
export const allSyncSecrets = `${group}/syncsecrets`;
export const syncSecretsIn = (namespace: string): string =>
  `${group}/namespaces/${namespace}/syncsecrets`;

const pathOf = ({ namespace = "", name = "" }: V1ObjectMeta): string =>
  `${syncSecretsIn(namespace)}/${name}`;

/**
 * The metadata of all objects in a collection, without their content, so that the list stays small.
 */
export async function metadataOf(
  cluster: Cluster,
  path: string,
  query: Readonly<Record<string, string>> = {},
): Promise<V1ObjectMeta[]> {
  const found: V1ObjectMeta[] = [];
  await cluster.pages<{ metadata: V1ObjectMeta }>(
    path,
    query,
    (page) => void found.push(...page.map(({ metadata }) => metadata)),
    { as: "metadata" },
  );
  return found;
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

/** Adds or removes the finalizer if necessary, and returns the object. */
export async function writeFinalizer(
  cluster: Cluster,
  object: SyncSecret,
  finalizer: string,
  wanted: boolean,
): Promise<SyncSecret> {
  const finalizers = object.metadata.finalizers ?? [];
  if (finalizers.includes(finalizer) === wanted) return object;
  const others = finalizers.filter((one) => one !== finalizer);
  // Replaces the whole object, if it still has the version that we read. Unlike an apply, this can
  // also remove a finalizer that another field manager, such as a backup tool, wrote.
  const { managedFields: _written, ...rest } = object.metadata;
  const metadata = { ...rest, finalizers: wanted ? [...others, finalizer] : others };
  return await cluster.replace<SyncSecret>(pathOf(metadata), { ...object, metadata });
}

/** Replaces the status, if the object still has the version that we read. */
export async function writeStatus(
  cluster: Cluster,
  { metadata: { name, namespace, uid, resourceVersion }, ...object }: SyncSecret,
  status: SyncSecretStatus,
): Promise<SyncSecret> {
  const metadata = { name, namespace, uid, resourceVersion };
  return await cluster.replace<SyncSecret>(`${pathOf(metadata as V1ObjectMeta)}/status`, {
    ...object,
    metadata,
    status,
  });
}
