/**
 * Reduces the objects that a cluster returns to the fields that we need. A hostile cluster can
 * return anything: 2 MiB of empty lists, for example, take 20 times as much memory when parsed.
 * Valid objects shrink too: managedFields are as long as a small Secret. Pure.
 */
import type { KubernetesObject, V1Secret } from "@kubernetes/client-node";
import * as z from "zod/mini";
import { fieldsOf } from "#contract/fields.ts";
import { fleetOwnerAnnotation } from "#contract/names.ts";

/** Maximum length of a text. Names in Kubernetes have at most 253 characters. */
const longest = 512;
/** Maximum number of items of a list. GlobalPullSecret's CRD allows at most 18. */
const most = 32;
/**
 * Maximum number of keys of a Secret. So many keys nearly fill a Secret, even if the keys have ten
 * characters and the values are empty.
 */
const mostKeys = 10_000;

// A field of another type counts as absent. Unknown fields are removed.
const optional = <Type extends z.ZodMiniType>(type: Type) => z.catch(z.optional(type), undefined);
const text = optional(z.string().check(z.maxLength(longest)));
const number = optional(z.number());
const truth = optional(z.boolean());
const fields = <Shape extends z.core.$ZodShape>(shape: Shape) =>
  z.pipe(z.transform(fieldsOf), z.object(shape));
const cut = z.transform((value) => (Array.isArray(value) ? value.slice(0, most) : undefined));
const list = <Type extends z.ZodMiniType>(type: Type) => z.pipe(cut, z.optional(z.array(type)));

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
  finalizers: z.pipe(
    list(text),
    z.transform((all) => all?.filter((name) => name !== undefined)),
  ),
});

const secret = fields({
  metadata,
  type: text,
  immutable: truth,
  data: z.transform(dataOf),
});

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

/** A Secret's type, data, immutability, owner and version. */
export const keptSecret = (object: KubernetesObject): KubernetesObject & V1Secret =>
  defined(secret.parse(object));

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

/** Removes undefined fields at any depth. */
const defined = <T>(value: object): T => JSON.parse(JSON.stringify(value)) as T;
