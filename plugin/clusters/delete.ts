/** Deletes applied manifests from one cluster. */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { Cluster } from "#kube/client/cluster.ts";
import { pluginManager as manager } from "#kube/client/ownership.ts";
import type { Manifest } from "./manifests.ts";
import type { Named } from "./profile.ts";
import { labelOf, Places, whyNot } from "./place.ts";

export type Deletion = Readonly<{
  /** The object's name, such as `deployments.apps/web`. */
  object: string;
  namespace: string;
  /** `kept`: we did not delete the object, for a reason that whyKept returns. */
  state: "deleted" | "gone" | "kept" | "failed";
  why?: string;
}>;

/** Programs of Kubernetes, which add fields to the objects of other managers. */
const completes = /^(?:kube-|cloud-controller-manager$|clusterrole-aggregation-controller$)/;

/**
 * Deletes the objects in the reverse order of an apply, with namespaces and CRDs last. Deletes only
 * objects that `fleet apply` has applied, that no other object owns, and that no other client
 * manages. If a deletion fails, we continue with the other objects.
 */
export async function deleteFrom(
  cluster: Cluster,
  manifests: readonly Manifest[],
): Promise<readonly Deletion[]> {
  const places = new Places(cluster);
  const deletions: Deletion[] = [];
  for (const manifest of manifests.toReversed()) {
    const { kind, metadata } = manifest;
    let label = { object: `${kind}/${metadata.name}`, namespace: metadata.namespace ?? "" };
    try {
      const place = await places.find(manifest);
      if (place === undefined) {
        const served = await places.otherwise(manifest);
        const why = served && `is not served as ${manifest.apiVersion}; name ${served}`;
        // If the API server does not serve another version of the kind either, the CRD no longer
        // exists, and its objects were deleted with it.
        deletions.push(
          why === undefined ? { ...label, state: "gone" } : { ...label, state: "failed", why },
        );
        continue;
      }
      label = labelOf(place);
      const live = await cluster.get<Named>(place.path, { as: "metadata" });
      const why = live && whyKept(live.metadata ?? {});
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

/** Why we must not delete an object. Undefined if we are allowed to delete it. Pure. */
export function whyKept({
  managedFields = [],
  ownerReferences = [],
}: Pick<V1ObjectMeta, "managedFields" | "ownerReferences">): string | undefined {
  const applied = managedFields.some(
    (entry) => entry.manager === manager && entry.operation === "Apply",
  );
  if (!applied) return "was not applied by this command; delete it with kubectl";
  const [owner] = ownerReferences;
  if (owner !== undefined) return `belongs to ${owner.kind} ${owner.name}; delete that`;
  const others = managedFields
    // We ignore managers of subresources such as status and scale, because other clients always
    // write these.
    .filter((entry) => (entry.subresource ?? "") === "")
    .map((entry) => entry.manager ?? "unknown")
    .filter((other) => other !== manager && !completes.test(other));
  return others.length > 0
    ? `is managed by ${[...new Set(others)].join(", ")}, too; delete it with kubectl`
    : undefined;
}

export const isDone = ({ state }: Deletion): boolean => state === "deleted" || state === "gone";
