/** Where a copy comes from: all of a tenant's metadata that ever travels. Pure. */
import { createHash } from "node:crypto";
import type { V1ObjectMeta } from "@kubernetes/client-node";

export type Origin = Readonly<{ name: string; namespace: string }>;

const names = {
  name: "globalpullsecret.io/origin-name",
  namespace: "globalpullsecret.io/origin-namespace",
} as const;

/** Name of an object; a namespace's is a shorter one of the same form. */
const objectName = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/** True for metadata that names an origin, whatever it is. */
export const hasOrigin = (annotations: Readonly<Record<string, string>>): boolean =>
  Object.values(names).every((one) => annotations[one] !== undefined);

/** The annotations of a copy: the full values. */
export const originAnnotations = ({ name, namespace }: Origin): Record<string, string> => ({
  [names.name]: name,
  [names.namespace]: namespace,
});

/** The labels of a copy: the same values, by which the API server selects. */
export const originLabels = ({ name, namespace }: Origin): Record<string, string> => ({
  [names.name]: labelValue(name),
  [names.namespace]: labelValue(namespace),
});

/**
 * The value of a label: the text itself where it fits. A label's value ends at 63 characters, a
 * name at 253; of a longer one the label has the first 54 and 8 digits of its SHA-256, so that two
 * names with one beginning stay two.
 */
export function labelValue(text: string): string {
  if (text.length <= 63) return text;
  const digest = createHash("sha256").update(text).digest("hex").slice(0, 8);
  return `${text.slice(0, 54)}-${digest}`;
}

/**
 * What a copy says of where it comes from. The tenant's account writes that, so only what can be a
 * name is believed; an object that says nothing comes from where it is.
 */
export function originOf({ annotations = {}, name = "", namespace = "" }: V1ObjectMeta): Origin {
  const said = { name: annotations[names.name], namespace: annotations[names.namespace] };
  const isSaid = [said.name, said.namespace].every((one) => objectName.test(one ?? ""));
  return isSaid && said.name !== undefined && said.namespace !== undefined
    ? { name: said.name, namespace: said.namespace }
    : { name, namespace };
}
