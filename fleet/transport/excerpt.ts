/**
 * Reduces the objects that a cluster returns to the fields that are needed. A cluster may return
 * anything, for example 2 MiB of empty lists for a Secret, which take 20 times as much memory when
 * parsed. Valid objects shrink as well, because managedFields are as long as a small Secret. Pure.
 */
import type { KubernetesObject, V1Secret } from "@kubernetes/client-node";
import { fleetOwnerAnnotation } from "#contract/names.ts";

/** Longest text. Kubernetes' own names have up to 253 characters. */
const longest = 512;
/** Maximum number of items of a list. GlobalPullSecret's CRD allows at most 18. */
const most = 32;
/**
 * Maximum number of keys of a Secret. With names of ten characters and empty values, this many keys
 * nearly fill a Secret.
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
    // A replacement must name these fields.
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

/** Base64 by key. Undefined if this cannot be a Secret's data. */
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

/** The fields of an object. Empty for anything else. */
export function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

/** The items of a list. Empty for anything else. */
export const list = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? value.map((one: unknown) => fields(one)) : [];
