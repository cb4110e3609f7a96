/** Applied manifests taken away from one cluster again. */
import type { V1ManagedFieldsEntry } from "@kubernetes/client-node";
import type { Cluster } from "#kube/client/cluster.ts";
import { manager } from "../cluster/names.ts";
import type { Manifest } from "./manifests.ts";
import type { Named } from "./names.ts";
import { Places, whyNot } from "./place.ts";

export type Deletion = Readonly<{
  /** `deployments.apps/web`. */
  object: string;
  namespace: string;
  /** `kept`: it is not ours to delete. */
  state: "deleted" | "gone" | "kept" | "failed";
  why?: string;
}>;

/** Kinds whose deletion takes along what others made in them. */
const containers: ReadonlySet<string> = new Set(["Namespace", "CustomResourceDefinition"]);

/**
 * Deletes the objects in the reverse order of an apply, so that namespaces and definitions go last.
 * Only what `clusters apply` has applied is deleted, and of namespaces and definitions only those
 * that no one else manages as well. One that fails keeps no other in its place.
 */
export async function deleteFrom(
  cluster: Cluster,
  manifests: readonly Manifest[],
): Promise<readonly Deletion[]> {
  const places = new Places(cluster);
  const deletions: Deletion[] = [];
  for (const manifest of manifests.toReversed()) {
    const { kind, metadata } = manifest;
    const label = { object: `${kind}/${metadata.name}`, namespace: metadata.namespace ?? "" };
    try {
      const place = await places.find(manifest);
      if (place === undefined) {
        // Its definition is gone, and took it along.
        deletions.push({ ...label, state: "gone" });
        continue;
      }
      const group = place.group === "" ? "" : `.${place.group}`;
      label.object = `${place.resource}${group}/${place.name}`;
      label.namespace = place.namespace ?? "";
      const live = await cluster.get<Named>(place.path, { as: "metadata" });
      const why = live && whyKept(kind, live.metadata?.managedFields ?? []);
      if (live !== undefined && why === undefined)
        await cluster.remove(place.path, live.metadata?.uid ?? "");
      const state = live === undefined ? "gone" : why === undefined ? "deleted" : "kept";
      deletions.push({ ...label, state, ...(why === undefined ? {} : { why }) });
    } catch (error) {
      deletions.push({ ...label, state: "failed", why: whyNot(error) });
    }
  }
  return deletions;
}

/** Why an object is not ours to delete; undefined where it is. Pure. */
export function whyKept(
  kind: string,
  managed: readonly V1ManagedFieldsEntry[],
): string | undefined {
  const applied = managed.some((one) => one.manager === manager && one.operation === "Apply");
  if (!applied) return "was not applied by this command; delete it by kubectl";
  const others = managed
    .filter((one) => one.manager !== manager && (one.subresource ?? "") === "")
    .map((one) => one.manager ?? "unknown");
  return containers.has(kind) && others.length > 0
    ? `is managed by ${[...new Set(others)].join(", ")}, too; delete it by kubectl`
    : undefined;
}

export const isDone = ({ state }: Deletion): boolean => state === "deleted" || state === "gone";
