/** Reduces the objects that a cluster returns to the fields that we need. Pure. */
import type { KubernetesObject } from "@kubernetes/client-node";
import { fieldsOf } from "#contract/fields.ts";
import { fleetManagedBy, fleetOwnerAnnotation } from "#contract/names.ts";
import { contentFields, type LiveCopy } from "#kube/apply/copy.ts";
import { defined, fields, list, number, text, truth } from "#kube/excerpt.ts";

/**
 * Maximum number of keys of a Secret. So many keys nearly fill a Secret, even if the keys have ten
 * characters and the values are empty.
 */
const mostKeys = 10_000;

const metadata = fields({
  uid: text,
  resourceVersion: text,
  generation: number,
  deletionTimestamp: text,
  labels: fields(Object.fromEntries(Object.keys(fleetManagedBy).map((name) => [name, text]))),
  annotations: fields({ [fleetOwnerAnnotation]: text }),
});

const secret = fields({ metadata, type: text, immutable: truth });

const proof = fields({
  metadata,
  spec: fields({
    managementState: text,
    sources: list(fields({ name: text, secretRef: fields({ name: text }) })),
  }),
  status: fields({
    observedGeneration: number,
    sources: list(
      fields({
        name: text,
        resourceVersion: text,
        servedResourceVersion: text,
        accepted: text,
        reason: text,
      }),
    ),
    conditions: list(fields({ type: text, status: text, reason: text })),
    nodes: fields({ summary: text }),
  }),
});

/** What we keep of a Secret: a digest instead of its data. */
export function keptSecret(object: KubernetesObject): LiveCopy {
  const kept = defined<Pick<LiveCopy, "type" | "metadata">>(secret.parse(object));
  return { ...kept, ...contentFields(kept.type, dataOf(fieldsOf(object)["data"])) };
}

/** The fields of a GlobalPullSecret that prove that nodes have a Secret. */
export const keptProof = (object: KubernetesObject): KubernetesObject =>
  defined(proof.parse(object));

/** Key → value in base64. Undefined if `value` cannot be a Secret's data. */
function dataOf(value: unknown): Readonly<Record<string, string>> | undefined {
  const all = Object.entries(fieldsOf(value));
  if (all.length === 0 || all.length > mostKeys) return undefined;
  const values = all.filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return values.length < all.length ? undefined : Object.fromEntries(values);
}
