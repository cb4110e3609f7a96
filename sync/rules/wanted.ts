/** What is made of a SyncSecret: its copy, and of that the Secret. Pure. */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { SyncSecret } from "#api/sync-secret.ts";
import type { SyncContent, Data } from "./content.ts";
import { hasOrigin, originAnnotations, originLabels, originOf, type Origin } from "./origin.ts";

/** Owner of what is written; also the name that an audit log shows. */
export const syncManager = "global-pull-secret-sync";

export const apiVersion = "globalpullsecret.io/v1alpha1";

/** The annotation of a Secret that could not have the declared type. */
const originalType = "globalpullsecret.io/original-type";

const managedBy = { "app.kubernetes.io/managed-by": syncManager };
const accountToken = "kubernetes.io/service-account-token";

/** A Secret or a SyncSecret, as far as we declare it. */
export type Wanted = Readonly<{
  apiVersion: string;
  kind: string;
  metadata: Readonly<{
    name: string;
    namespace: string;
    labels: Readonly<Record<string, string>>;
    annotations: Readonly<Record<string, string>>;
    ownerReferences?: readonly Readonly<{
      apiVersion: string;
      kind: string;
      name: string;
      uid: string;
    }>[];
  }>;
  type: string;
  data: Data;
  immutable: boolean;
}>;

/** The tenant's object in its namespace of the management cluster, named by its UID. */
export function copyOf(
  { metadata, immutable = false }: SyncSecret,
  { type, data }: SyncContent,
  namespace: string,
): Wanted {
  const origin = { name: metadata.name ?? "", namespace: metadata.namespace ?? "" };
  const placed = { name: metadata.uid ?? "", namespace, ...told(origin) };
  return { apiVersion, kind: "SyncSecret", metadata: placed, type, data, immutable };
}

/**
 * The Secret, named by the UID of the copy, so that no tenant chooses the name of a Secret here. A
 * token of a service account becomes Opaque: the token controller would delete it for want of its
 * account, or fill it with a token of this cluster.
 */
export function secretOf(object: SyncSecret, { type, data }: SyncContent): Wanted {
  const { name = "", uid = "", namespace = "" } = object.metadata;
  const { labels, annotations } = told(originOf(object.metadata));
  const opaque = type === accountToken;
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: uid,
      namespace,
      labels,
      annotations: opaque ? { ...annotations, [originalType]: type } : annotations,
      ownerReferences: [{ apiVersion, kind: "SyncSecret", name, uid }],
    },
    type: opaque ? "Opaque" : type,
    data,
    immutable: object.immutable ?? false,
  };
}

const told = (origin: Origin) => ({
  labels: { ...managedBy, ...originLabels(origin) },
  annotations: originAnnotations(origin),
});

/**
 * True for what a tenant's side made. Its own cluster has none: who finds one is in a management
 * cluster, where it would copy the copies of all tenants, and in the end its own, without end.
 */
export const isCopy = ({ labels = {}, annotations = {} }: V1ObjectMeta): boolean =>
  Object.entries(managedBy).every(([name, value]) => labels[name] === value) &&
  hasOrigin(annotations);

/** True when we made the Secret, whatever was edited on it since: managedFields outlive an edit. */
export function isSecretOf(live: V1ObjectMeta, uid: string): boolean {
  return (
    (live.ownerReferences ?? []).some((owner) => owner.uid === uid) ||
    (live.managedFields ?? []).some(({ manager }) => manager === syncManager)
  );
}
