/** The requests for SyncSecrets that both sides make. */
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

/** The metadata of all objects in a collection: a small list, however large the objects are. */
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

/** The object with that UID; undefined if it is gone, or if another object has its name now. */
export async function readObject(
  cluster: Cluster,
  metadata: V1ObjectMeta,
): Promise<SyncSecret | undefined> {
  const object = await cluster.get<SyncSecret>(pathOf(metadata));
  return object?.metadata.uid === metadata.uid ? object : undefined;
}

/**
 * Adds or removes the finalizer, and returns the object. Writes nothing if the finalizer is already
 * as wanted.
 */
export async function writeFinalizer(
  cluster: Cluster,
  object: SyncSecret,
  finalizer: string,
  wanted: boolean,
): Promise<SyncSecret> {
  const finalizers = object.metadata.finalizers ?? [];
  if (finalizers.includes(finalizer) === wanted) return object;
  const others = finalizers.filter((one) => one !== finalizer);
  // Replaces the whole object in the version that was read. Unlike an apply, this also removes a
  // finalizer that another field manager wrote, for example a restore from a backup.
  const { managedFields: _written, ...rest } = object.metadata;
  const metadata = { ...rest, finalizers: wanted ? [...others, finalizer] : others };
  return await cluster.replace<SyncSecret>(pathOf(metadata), { ...object, metadata });
}

/** Replaces the status in the version of the object that was read. */
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
