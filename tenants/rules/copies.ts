/** Makes the copy of a SyncSecret, and the Secret of a copy. Pure. */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { SyncSecret } from "#api/sync-secret.ts";
import type { Declared } from "#kube/apply/copy.ts";
import type { SyncContent } from "./content.ts";
import {
  clusterOf,
  hasOrigin,
  originAnnotations,
  originLabels,
  originOf,
  type Origin,
} from "./origin.ts";

/** The field manager of all writes, and the user agent in the audit log. */
export const syncManager = "global-pull-secret-sync";

export const apiVersion = "globalpullsecret.io/v1alpha1";

/** Annotation with the type that the user declared, if the Secret must not have this type. */
const originalType = "globalpullsecret.io/original-type";

export const managedByLabel = "app.kubernetes.io/managed-by";
const managedBy = { [managedByLabel]: syncManager };
/** Types that Kubernetes turns into a credential of the cluster in which such a Secret is. */
const tokens: ReadonlySet<string> = new Set([
  "kubernetes.io/service-account-token",
  "bootstrap.kubernetes.io/token",
]);

/**
 * The copy of a tenant's object in `namespace` of the management cluster. The object's UID is its
 * name.
 */
export function copyOf(
  { metadata, immutable }: SyncSecret,
  { type, data }: SyncContent,
  namespace: string,
  clusterId?: string,
): Declared {
  const origin = { name: metadata.name ?? "", namespace: metadata.namespace ?? "" };
  const { labels, annotations } = marksOf(origin);
  const marks = { labels, annotations: { ...annotations, ...clusterOf(clusterId) } };
  const placed = { name: metadata.uid ?? "", namespace, ...marks };
  return { apiVersion, kind: "SyncSecret", metadata: placed, type, data, ...fixed(immutable) };
}

/**
 * The Secret of a copy. Its name is the copy's UID, so that tenants cannot choose the names of
 * Secrets in the management cluster. The types of tokens become Opaque. Without this change,
 * Kubernetes' token controller would delete the Secret, or add a token of the management cluster.
 */
export function secretOf(object: SyncSecret, { type, data }: SyncContent): Declared {
  const { name = "", uid = "", namespace = "" } = object.metadata;
  const { labels, annotations } = marksOf(originOf(object.metadata));
  const opaque = tokens.has(type);
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: uid,
      namespace,
      labels,
      annotations: opaque ? { ...annotations, [originalType]: type } : annotations,
      // With blockOwnerDeletion, a foreground deletion of the copy waits until this Secret is gone.
      ownerReferences: [{ apiVersion, kind: "SyncSecret", name, uid, blockOwnerDeletion: true }],
    },
    type: opaque ? "Opaque" : type,
    data,
    ...fixed(object.immutable),
  };
}

const fixed = (immutable = false) => (immutable ? { immutable } : {});

const marksOf = (origin: Origin) => ({
  labels: { ...managedBy, ...originLabels(origin) },
  annotations: originAnnotations(origin),
});

/**
 * True for a copy that a tenant's side made. A tenant's side that finds copies in its own cluster
 * was started in a management cluster by mistake. Without this check, it would copy the copies of
 * all tenants, and then its own copies, without end.
 */
export const isCopy = ({ labels = {}, annotations = {} }: V1ObjectMeta): boolean =>
  Object.entries(managedBy).every(([name, value]) => labels[name] === value) &&
  hasOrigin(annotations);

/**
 * True if we made the Secret, even if others have edited it since. An edit can remove the owner,
 * but our name stays in managedFields.
 */
export function isSecretOf(live: V1ObjectMeta, uid: string): boolean {
  return (
    (live.ownerReferences ?? []).some((owner) => owner.uid === uid) ||
    (live.managedFields ?? []).some(({ manager }) => manager === syncManager)
  );
}
