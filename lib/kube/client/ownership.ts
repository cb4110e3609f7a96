/**
 * Which objects are ours: an object must have one of our names, and either our label or a field
 * that our field manager applied. We refuse to change any other object. If an edit removes the
 * label, our field manager's entry stays in `metadata.managedFields`, so we can still repair the
 * object.
 */
import type { KubernetesObject, V1ObjectMeta } from "@kubernetes/client-node";
import { globalSecretName } from "#contract/names.ts";

/** Owner of the fields that we declare by server-side apply. */
export const fieldManager = "global-pull-secret-controller";

/** Name of the Lease in kube-system whose holder writes. */
export const leaseName = "global-pull-secret-controller";

/**
 * Field manager of global-pull-secret-state. It differs from the manager of global-pull-secret, so
 * that no rule for the fields of one Secret applies to the other Secret.
 */
export const stateManager = "global-pull-secret-controller-state";

/** Field manager of GlobalPullSecret's status. */
export const statusManager = "global-pull-secret-status";

/** Field manager of what the plugin writes. The audit log shows this name, too. */
export const pluginManager = "kubectl-pull-secret";

const ownerLabel = "app.kubernetes.io/managed-by";
export const ownerLabels: Readonly<Record<string, string>> = { [ownerLabel]: globalSecretName };

/** True if we created the object, whatever was edited since. */
export function isOurs(metadata: V1ObjectMeta | undefined): boolean {
  if (metadata?.labels?.[ownerLabel] === ownerLabels[ownerLabel]) return true;
  return (metadata?.managedFields ?? []).some(
    ({ manager, operation }) =>
      (manager === fieldManager || manager === stateManager) && operation === "Apply",
  );
}

/** The names of our programs' field managers begin with this prefix. */
const ourManagers = "global-pull-secret-";

/**
 * The field manager, other than ours, that last wrote the object, apart from its status. Undefined
 * if there is none, or if the manager's name is not safe to show: every client can choose any name.
 */
export function otherManager(metadata: V1ObjectMeta | undefined): string | undefined {
  const others = (metadata?.managedFields ?? []).filter(
    (entry) => entry.subresource === undefined && entry.manager?.startsWith(ourManagers) !== true,
  );
  // In the API server's answer, times are text that sorts by time, although the client's types
  // declare a Date.
  const [last] = others.toSorted((entry, other) =>
    String(entry.time) < String(other.time) ? 1 : -1,
  );
  return /^[\w./:@ -]{1,128}$/.exec(last?.manager ?? "")?.[0];
}

/** The uid of an object that the API server returned. */
export const uidOf = ({ metadata }: KubernetesObject): string => metadata?.uid ?? "";
