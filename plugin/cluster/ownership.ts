/** Who declares a field: what others declare they will put back, whatever is written in between. */
import type { V1ManagedFieldsEntry, V1ObjectMeta } from "@kubernetes/client-node";
import { manager } from "./names.ts";

/** The way to a field: `["spec", "managementState"]`. */
type Path = readonly string[];

type Fields = { readonly [name: string]: Fields } | undefined;

/**
 * The annotation in which `kubectl apply` without --server-side, and tools like it, keep what they
 * applied last.
 */
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * The manager that will undo a write to the field; undefined if there is none. An Apply declares
 * what it owns. An Update owns what it changed, and as a creation also the defaults: it declares
 * the field where what was last applied has it, or, where nobody remembers that, if it is no person
 * with kubectl. Managers in `ours` do not count.
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
    // Written by hand: nobody applies from it.
    return false;
  }
}
