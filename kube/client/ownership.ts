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

/** Annotations that remember what cannot be read off the objects themselves. */
export const annotations = {
  /**
   * On global-pull-secret: `true` once a revision may have touched a node. A removal must then ask
   * the nodes first.
   */
  rolled: "globalpullsecret.io/rolled",
  /**
   * On global-pull-secret: the revision under which every node has given back its entries. A
   * removal may then delete.
   */
  released: "globalpullsecret.io/released",
  /** On the DaemonSet: `canary` until the first node has proved the template, then `wave`. */
  stage: "globalpullsecret.io/stage",
  /** On the DaemonSet: when it was last nudged. */
  nudged: "globalpullsecret.io/nudged",
  /**
   * On a DaemonSet that is pinned to nodes that were away at a removal: since when we wait for
   * them.
   */
  awaitedSince: "globalpullsecret.io/awaited-since",
  /**
   * On the DaemonSet's template: digest of the rest of the template, which tells pods of an upgrade
   * from older ones.
   */
  template: "globalpullsecret.io/template",
} as const;

/** Prefix of our annotations until version 0.1; it was no domain. */
const formerPrefix = "global-pull-secret/";

/**
 * The value of one of our annotations; failing that, the value under its name before version 0.2,
 * so that an upgrade finds what the older controller remembered. Nothing is written under the old
 * name.
 */
export function annotationOf(metadata: V1ObjectMeta | undefined, name: string): string | undefined {
  const former = formerPrefix + name.slice(name.indexOf("/") + 1);
  return metadata?.annotations?.[name] ?? metadata?.annotations?.[former];
}

/** True when we made the object, whatever was edited since. */
export function isOurs(metadata: V1ObjectMeta | undefined): boolean {
  if (metadata?.labels?.[ownerLabel] === ownerLabels[ownerLabel]) return true;
  return (metadata?.managedFields ?? []).some(
    ({ manager, operation }) =>
      (manager === fieldManager || manager === stateManager) && operation === "Apply",
  );
}
