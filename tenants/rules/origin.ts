/**
 * The origin of a copy: the name and the namespace of the tenant's object. We copy no other
 * metadata. Pure.
 */
import { createHash } from "node:crypto";
import type { V1ObjectMeta } from "@kubernetes/client-node";

export type Origin = Readonly<{ name: string; namespace: string }>;

const names = {
  name: "globalpullsecret.io/origin-name",
  namespace: "globalpullsecret.io/origin-namespace",
} as const;

/** A valid name of an object. Names of namespaces have the same form, but are shorter. */
const objectName = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/** True if the annotations name an origin, even if it is not valid. */
export const hasOrigin = (annotations: Readonly<Record<string, string>>): boolean =>
  Object.values(names).every((annotation) => annotations[annotation] !== undefined);

/**
 * Annotation on a copy: the id of the tenant's cluster. The tenant's side recognises its own copies
 * by this id.
 */
const clusterAnnotation = "globalpullsecret.io/origin-cluster";

export const originAnnotationNames = [names.name, names.namespace, clusterAnnotation] as const;

/** The annotation with this cluster's id, or none while the id is unknown. */
export const clusterOf = (id: string | undefined): Record<string, string> =>
  id === undefined ? {} : { [clusterAnnotation]: id };

/** True for a copy that the tenant's side of the cluster `id` made. */
export const isOfCluster = ({ annotations = {} }: V1ObjectMeta, id: string | undefined): boolean =>
  id !== undefined && annotations[clusterAnnotation] === id;

/** The annotations of a copy, with the full name and namespace of the origin. */
export const originAnnotations = ({ name, namespace }: Origin): Record<string, string> => ({
  [names.name]: name,
  [names.namespace]: namespace,
});

/**
 * The labels of a copy, for selectors. They have the same values as the annotations, shortened if
 * necessary.
 */
export const originLabels = ({ name, namespace }: Origin): Record<string, string> => ({
  [names.name]: labelValue(name),
  [names.namespace]: labelValue(namespace),
});

/**
 * Makes a label value from a name. A name has up to 253 characters, but a label value at most 63.
 * If the name is longer, we use its first 54 characters and 8 digits of its SHA-256, so that names
 * with the same beginning get different values.
 */
function labelValue(text: string): string {
  if (text.length <= 63) return text;
  const digest = createHash("sha256").update(text).digest("hex").slice(0, 8);
  return `${text.slice(0, 54)}-${digest}`;
}

/**
 * The origin that a copy's annotations name. The tenant's account writes the annotations, so we
 * ignore invalid names, and use the copy's own name and namespace instead.
 */
export function originOf({ annotations = {}, name = "", namespace = "" }: V1ObjectMeta): Origin {
  const named = { name: annotations[names.name], namespace: annotations[names.namespace] };
  const isValid = [named.name, named.namespace].every((part) => objectName.test(part ?? ""));
  return isValid && named.name !== undefined && named.namespace !== undefined
    ? { name: named.name, namespace: named.namespace }
    : { name, namespace };
}
