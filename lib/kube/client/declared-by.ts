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

/** True when `kubectl apply`, or a tool that applies in its way, has declared the object. */
export const isAppliedByKubectl = (metadata: V1ObjectMeta | undefined): boolean =>
  metadata?.annotations?.[lastApplied] !== undefined ||
  (metadata?.managedFields ?? []).some(
    ({ manager, operation }) => manager === "kubectl" && operation === "Apply",
  );

/** The Helm release that created the object. */
export const releaseOf = (metadata: V1ObjectMeta | undefined): string | undefined =>
  metadata?.annotations?.["meta.helm.sh/release-name"];

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
