/** Which tool declares a field. That tool writes the field again after any change by others. */
import type { V1ManagedFieldsEntry, V1ObjectMeta } from "@kubernetes/client-node";

/** The path of a field: `["spec", "managementState"]`. */
export type Path = readonly string[];

type Fields = { readonly [name: string]: Fields } | undefined;

/**
 * The annotation in which `kubectl apply` without --server-side and similar tools store the object
 * that they applied last.
 */
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/** An item of a list is `k:{"name":"a"}` (a list with keys) or `v:"quay.io"` (a set). */
const isItem = (step: string): boolean => step.startsWith("k:") || step.startsWith("v:");

/**
 * The manager that will undo a write to the field; undefined if there is none. An Apply declares
 * every field that it owns. An Update also owns fields that it does not declare, such as defaults
 * after a creation. With a last-applied annotation, an Update declares the field only if the
 * annotation contains the field. Without the annotation, an Update declares the field unless the
 * manager is a person with kubectl. Managers in `ours` do not count.
 */
export function undoneBy(
  metadata: V1ObjectMeta | undefined,
  path: Path,
  ours: readonly string[],
): string | undefined {
  const owners = (metadata?.managedFields ?? []).filter(
    (entry) =>
      !ours.includes(entry.manager ?? "") && entry.subresource === undefined && owns(entry, path),
  );
  const applied = metadata?.annotations?.[lastApplied];
  const remembers = applied !== undefined && declares(applied, path);
  if (remembers)
    return owners.find(({ operation }) => operation === "Update")?.manager ?? "kubectl apply";
  const declaring = owners.find(
    ({ operation, manager: who = "" }) =>
      operation === "Apply" || (applied === undefined && !who.startsWith("kubectl")),
  );
  return declaring?.manager;
}

/** True when an earlier apply of this manager set the field. */
export function isDeclaredBy(
  manager: string,
  metadata: V1ObjectMeta | undefined,
  path: Path,
): boolean {
  return (metadata?.managedFields ?? []).some(
    (entry) => entry.manager === manager && entry.operation === "Apply" && owns(entry, path),
  );
}

/**
 * True when an earlier apply of this manager set a field that `declared` lacks. Another apply then
 * removes the field, unless another manager has set it, too.
 */
export function hasDeclaredMore(
  manager: string,
  metadata: V1ObjectMeta | undefined,
  declared: object,
): boolean {
  return (metadata?.managedFields ?? []).some(
    (entry) =>
      entry.manager === manager &&
      entry.operation === "Apply" &&
      entry.subresource === undefined &&
      exceeds(entry.fieldsV1 as Fields, declared),
  );
}

/** True when `kubectl apply`, or a tool that applies in its way, has declared the object. */
export const isAppliedByKubectl = (metadata: V1ObjectMeta | undefined): boolean =>
  metadata?.annotations?.[lastApplied] !== undefined ||
  (metadata?.managedFields ?? []).some(
    ({ manager, operation }) => manager === "kubectl" && operation === "Apply",
  );

/** The Helm release that created the object. */
export const releaseOf = (metadata: V1ObjectMeta | undefined): string | undefined =>
  metadata?.annotations?.["meta.helm.sh/release-name"];

function exceeds(fields: Fields, value: unknown): boolean {
  return Object.entries(fields ?? {}).some(([step, below]) => {
    // In managed fields, `.` stands for the object itself, not for a field of the object.
    if (step === ".") return false;
    const part = partOf(value, step);
    return part === undefined || exceeds(below, part);
  });
}

/** A field, or an item of a list, by its key in managed fields. */
function partOf(value: unknown, step: string): unknown {
  const key = step.slice(2);
  if (!isItem(step))
    return Object.hasOwn(Object(value) as object, key) ? fieldIn(value, key) : undefined;
  if (!Array.isArray(value)) return undefined;
  const item: unknown = JSON.parse(key);
  if (step.startsWith("v:")) return value.find((element) => element === item);
  const names = Object.entries(item as object);
  return value.find((element) => names.every(([name, its]) => fieldIn(element, name) === its));
}

function owns({ fieldsV1 }: V1ManagedFieldsEntry, path: Path): boolean {
  let fields = fieldsV1 as Fields;
  for (const step of path) fields = fields?.[`f:${step}`];
  return fields !== undefined;
}

function declares(text: string, path: Path): boolean {
  try {
    let value = JSON.parse(text) as unknown;
    for (const step of path) value = fieldIn(value, step);
    return value !== undefined;
  } catch {
    // The annotation is not valid, so a person wrote it, and no tool uses it to apply.
    return false;
  }
}

const fieldIn = (value: unknown, name: string): unknown =>
  (value as Record<string, unknown> | null | undefined)?.[name];
