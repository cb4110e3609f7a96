/** The few objects that the measurements write and read. Paths are those of the API. */
import type { Replacing as Api } from "#kube/client/cluster.ts";
import * as names from "#contract/names.ts";

/** A value of spec.rollout.maxUnavailable. The API server does not accept a number as a string. */
export type Budget = number | `${number}%`;

const inNamespace = `/namespaces/${names.namespace}`;
export const secrets = `/api/v1${inNamespace}/secrets`;
export const daemonSets = `/apis/apps/v1${inNamespace}/daemonsets`;
/** The DaemonSet and the Secret of the replacement method. */
export const replacementName = "bench-replacement";
export const additional = `${secrets}/${names.additionalSecretName}`;

/**
 * Applies an object by server-side apply. kubectl's own apply would copy the whole object into an
 * annotation, and some objects are too large for an annotation.
 */
export async function put(api: Api, path: string, object: object): Promise<void> {
  await api.apply(path, object, { manager: "bench", force: true });
}

export async function putAdditional(api: Api, document: string): Promise<void> {
  await put(api, additional, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: names.additionalSecretName, namespace: names.namespace },
    type: names.secretType,
    data: { [names.secretKeys.document]: Buffer.from(document).toString("base64") },
  });
}

export async function remove(api: Api, path: string): Promise<void> {
  const object = await api.get<{ metadata: { uid: string } }>(path);
  if (object !== undefined) await api.remove(path, object.metadata.uid);
}

/** A document of `count` entries and about `bytes` bytes. Each `seed` gives other credentials. */
export function largeDocument(count: number, bytes: number, seed: number): string {
  const each = Math.floor(bytes / count) - 46;
  const auths = Array.from({ length: count }, (_, index) => {
    const password = `${seed}-${"x".repeat(Math.max(1, Math.floor(each * 0.75) - 12))}`;
    return [
      `registry-${index}.example.com`,
      { auth: Buffer.from(`user-${index}:${password}`).toString("base64") },
    ];
  });
  return JSON.stringify({ auths: Object.fromEntries(auths) });
}
