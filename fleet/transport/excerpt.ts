/** Reduces the objects that a cluster returns to the fields that we need. Pure. */
import type { KubernetesObject } from "@kubernetes/client-node";
import { fieldsOf } from "#contract/fields.ts";
import { fleetOwnerAnnotation } from "#contract/names.ts";
import { defined, fields, list, number, text, texts, truth } from "#kube/excerpt.ts";
import { digestOf } from "../rules/content.ts";

/**
 * Maximum number of keys of a Secret. So many keys nearly fill a Secret, even if the keys have ten
 * characters and the values are empty.
 */
const mostKeys = 10_000;

const metadata = fields({
  uid: text,
  resourceVersion: text,
  generation: number,
  annotations: fields({ [fleetOwnerAnnotation]: text }),
  // A replace request must contain these fields.
  ownerReferences: list(
    fields({
      apiVersion: text,
      kind: text,
      name: text,
      uid: text,
      controller: truth,
      blockOwnerDeletion: truth,
    }),
  ),
  finalizers: texts,
});

const secret = fields({ metadata, type: text, immutable: truth });

/** How many names of keys we keep. */
const mostNames = 100;

/** What we keep of a Secret: a digest instead of its data. */
export type KeptSecret = KubernetesObject &
  Readonly<{
    type?: string;
    immutable?: boolean;
    digest: string;
    /** The names of the first hundred keys. */
    keys: readonly string[];
  }>;

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

/** A Secret's type, digest, keys, immutability, owner and version. */
export function keptSecret(object: KubernetesObject): KeptSecret {
  const kept = defined<Pick<KeptSecret, "type" | "metadata">>(secret.parse(object));
  const data = dataOf(fieldsOf(object)["data"]) ?? {};
  const digest = digestOf(kept.type ?? "Opaque", data);
  return { ...kept, digest, keys: Object.keys(data).slice(0, mostNames) };
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
