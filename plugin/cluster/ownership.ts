/** Which tool declares a field. That tool writes the field again after any change by others. */
import type { V1ManagedFieldsEntry, V1ObjectMeta } from "@kubernetes/client-node";
import { manager } from "./names.ts";

/** The path of a field: `["spec", "managementState"]`. */
type Path = readonly string[];

type Fields = { readonly [name: string]: Fields } | undefined;

/**
 * The annotation in which `kubectl apply` without --server-side, and tools like it, keep what they
 * applied last.
 */
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * The manager that will undo a write to the field; undefined if there is none. An Apply declares
 * what it owns. An Update owns what it changed, and after a creation also the defaults. It declares
 * the field if the last-applied annotation contains the field. Without that annotation it declares
 * the field unless the manager is a person with kubectl. Managers in `ours` do not count.
 */
export function undoneBy(
  metadata: V1ObjectMeta | undefined,
  path: Path,
  ours: readonly string[] = [manager],
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

/** True when an earlier apply of the plugin set the field. */
export function isOurs(metadata: V1ObjectMeta | undefined, path: Path): boolean {
  return (metadata?.managedFields ?? []).some(
    (entry) => entry.manager === manager && entry.operation === "Apply" && owns(entry, path),
  );
}

function owns({ fieldsV1 }: V1ManagedFieldsEntry, path: Path): boolean {
  let fields = fieldsV1 as Fields;
  for (const name of path) fields = fields?.[`f:${name}`];
  return fields !== undefined;
}

function declares(text: string, path: Path): boolean {
  try {
    let value = JSON.parse(text) as unknown;
    for (const name of path) value = (value as Record<string, unknown> | null | undefined)?.[name];
    return value !== undefined;
  } catch {
    // Written by hand, so no tool applies from it.
    return false;
  }
}
