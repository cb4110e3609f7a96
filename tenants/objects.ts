/** Requests for SyncSecrets. Both sides use them. */
import type { KubernetesObject, V1ObjectMeta } from "@kubernetes/client-node";
import type { SyncSecret } from "#api/sync-secret.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { defined, fields, number, text } from "#kube/excerpt.ts";
import { apiVersion, managedByLabel } from "./rules/copies.ts";
import { originAnnotationNames } from "./rules/origin.ts";

const group = `/apis/${apiVersion}`;

export const syncSecretsIn = (namespace: string): string =>
  `${group}/namespaces/${namespace}/syncsecrets`;

/** Path of an object in its collection. */
export const pathOf = ({ namespace = "", name = "" }: V1ObjectMeta): string =>
  `${syncSecretsIn(namespace)}/${name}`;

const metadata = fields({
  uid: text,
  name: text,
  namespace: text,
  resourceVersion: text,
  generation: number,
  deletionTimestamp: text,
  labels: fields({ [managedByLabel]: text }),
  annotations: fields(
    Object.fromEntries(originAnnotationNames.map((name) => [name, text] as const)),
  ),
});

/** The fields of an object's metadata that both sides need. */
export const keptMetadata = (object: KubernetesObject): V1ObjectMeta =>
  defined(metadata.parse(object.metadata));

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
