/**
 * Reduces the objects that a cluster returns to the fields that we need. A hostile cluster can
 * return anything: 2 MiB of empty lists, for example, take 20 times as much memory when parsed.
 * Valid objects shrink too: managedFields are as long as a small Secret. Pure.
 */
import type { KubernetesObject, V1Secret } from "@kubernetes/client-node";
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

/** A Secret's type, data, immutability, owner and version. */
export function keptSecret(object: KubernetesObject): KubernetesObject & V1Secret {
  const { metadata, type, data, immutable } = fields(object);
  return defined({
    metadata: metadataOf(metadata),
    type: text(type),
    immutable: truth(immutable),
    data: dataOf(data),
  });
}

/** The fields of a GlobalPullSecret that prove that nodes have a Secret. */
export function keptProof(object: KubernetesObject): KubernetesObject {
  const { metadata, spec, status } = fields(object);
  const { managementState, sources } = fields(spec);
  const { observedGeneration, sources: verdicts, conditions, nodes } = fields(status);
  return defined({
    metadata: metadataOf(metadata),
    spec: {
      managementState: text(managementState),
      sources: some(sources).map((one) => ({
        name: text(one["name"]),
        secretRef: { name: text(fields(one["secretRef"])["name"]) },
      })),
    },
    status: {
      observedGeneration: number(observedGeneration),
      sources: some(verdicts).map((one) =>
        texts(one, "name", "resourceVersion", "servedResourceVersion", "accepted", "reason"),
      ),
      conditions: some(conditions).map((one) => texts(one, "type", "status", "reason")),
      nodes: { summary: text(fields(nodes)["summary"]) },
    },
  });
}

function metadataOf(value: unknown) {
  const { uid, resourceVersion, generation, annotations, ownerReferences, finalizers } =
    fields(value);
  const owner = text(fields(annotations)[fleetOwnerAnnotation]);
  return {
    uid: text(uid),
    resourceVersion: text(resourceVersion),
    generation: number(generation),
    ...(owner === undefined ? {} : { annotations: { [fleetOwnerAnnotation]: owner } }),
    // A replace request must contain these fields.
    ...(Array.isArray(ownerReferences) ? { ownerReferences: ownersOf(ownerReferences) } : {}),
    ...(Array.isArray(finalizers)
      ? { finalizers: finalizers.slice(0, most).flatMap(textsOf) }
      : {}),
  };
}

const ownersOf = (value: readonly unknown[]) =>
  some(value).map((one) => ({
    apiVersion: text(one["apiVersion"]),
    kind: text(one["kind"]),
    name: text(one["name"]),
    uid: text(one["uid"]),
    controller: truth(one["controller"]),
    blockOwnerDeletion: truth(one["blockOwnerDeletion"]),
  }));

/** Key → value in base64. Undefined if `value` cannot be a Secret's data. */
function dataOf(value: unknown): Readonly<Record<string, string>> | undefined {
  const all = Object.entries(fields(value));
  if (all.length === 0 || all.length > mostKeys) return undefined;
  const values = all.filter((one): one is [string, string] => typeof one[1] === "string");
  return values.length < all.length ? undefined : Object.fromEntries(values);
}

const some = (value: unknown) => list(value).slice(0, most);
const text = (value: unknown) =>
  typeof value === "string" && value.length <= longest ? value : undefined;
const textsOf = (value: unknown) => text(value) ?? [];
const number = (value: unknown) => (typeof value === "number" ? value : undefined);
const truth = (value: unknown) => (typeof value === "boolean" ? value : undefined);
const texts = (value: Readonly<Record<string, unknown>>, ...names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, text(value[name])]));

/** Removes undefined fields at any depth. */
const defined = <T>(value: object): T => JSON.parse(JSON.stringify(value)) as T;

type Fields = Readonly<Record<string, unknown>>;

/** The fields of `value` if it is an object, otherwise none. */
export function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

/** The items of `value` if it is a list, otherwise none. */
export const list = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? value.map((one: unknown) => fields(one)) : [];
