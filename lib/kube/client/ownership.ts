/**
 * Which objects are ours: those under one of our names that carry our label, or that our field
 * manager applied. A foreign object is refused, never touched. The second sign lets us repair an
 * object whose label somebody removed: the API server writes `metadata.managedFields`, and no edit
 * can lose it.
 */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import { globalSecretName } from "#contract/names.ts";

/** Owner of the fields that we declare by server-side apply. */
export const fieldManager = "global-pull-secret-controller";

/** Name of the Lease in kube-system whose holder writes. */
export const leaseName = "global-pull-secret-controller";

/**
 * Field manager of our own annotations on global-pull-secret. It is a manager of its own, so that
 * they are written without the data.
 */
export const annotationManager = "global-pull-secret-controller-memory";

/**
 * Field manager of global-pull-secret-state. It is another object, so that no rule for the fields
 * of one applies to the other.
 */
export const stateManager = "global-pull-secret-controller-state";

const ownerLabel = "app.kubernetes.io/managed-by";
export const ownerLabels: Readonly<Record<string, string>> = { [ownerLabel]: globalSecretName };

/** True when we made the object, whatever was edited since. */
export function isOurs(metadata: V1ObjectMeta | undefined): boolean {
  if (metadata?.labels?.[ownerLabel] === ownerLabels[ownerLabel]) return true;
  return (metadata?.managedFields ?? []).some(
    ({ manager, operation }) =>
      (manager === fieldManager || manager === stateManager) && operation === "Apply",
  );
}

/** The field managers of our programs begin so. */
const ourManagers = "global-pull-secret-";

/**
 * The field manager, not one of ours, that wrote the object last, or its subresource of that name.
 * Undefined where there is none, or its name is nothing to show: anybody may choose one.
 */
export function otherManager(
  metadata: V1ObjectMeta | undefined,
  subresource?: string,
): string | undefined {
  const others = (metadata?.managedFields ?? []).filter(
    (entry) => entry.subresource === subresource && entry.manager?.startsWith(ourManagers) !== true,
  );
  // Times are text on the wire, whatever the client's types say, and sort as such.
  const [last] = others.toSorted((one, other) => (String(one.time) < String(other.time) ? 1 : -1));
  return /^[\w./:@ -]{1,128}$/.exec(last?.manager ?? "")?.[0];
}
