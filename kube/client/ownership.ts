/**
 * What is ours. An object under one of our names belongs to us when it carries our label or when
 * our field manager applied it; a foreign one is refused, never touched. The second sign lets us
 * repair an object whose label somebody took away: `metadata.managedFields` is written by the API
 * server and cannot be lost by an edit.
 */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import { globalSecretName } from "#contract/names.ts";

/** Owner of the fields that we declare by server-side apply. */
export const fieldManager = "global-pull-secret-controller";

/** Name of the Lease in kube-system whose holder writes. */
export const leaseName = "global-pull-secret-controller";

/**
 * Owner of our own memory on global-pull-secret (annotations): separate, so that it is written
 * without the data.
 */
export const memoryManager = "global-pull-secret-controller-memory";

/**
 * Owner of global-pull-secret-state: another object, so that no rule for the fields of one is a
 * rule for the other's.
 */
export const stateManager = "global-pull-secret-controller-state";

const ownerLabel = "app.kubernetes.io/managed-by";
export const ownerLabels: Readonly<Record<string, string>> = { [ownerLabel]: globalSecretName };

/** Our memory: everything that cannot be read off the objects themselves. */
export const annotations = {
  /**
   * On global-pull-secret: `true` as soon as a revision may have touched a node; removal must then
   * ask the nodes first.
   */
  rolled: "globalpullsecret.io/rolled",
  /**
   * On global-pull-secret: the revision that every node has given back its entries with; removal
   * may then delete.
   */
  released: "globalpullsecret.io/released",
  /** On the DaemonSet: `canary` until the first node has proved the template, then `wave`. */
  stage: "globalpullsecret.io/stage",
  /** On the DaemonSet: when its controller was last asked to look at it. */
  nudged: "globalpullsecret.io/nudged",
  /**
   * On a DaemonSet that is pinned to nodes that were away at a removal: since when they have been
   * waited for.
   */
  awaitedSince: "globalpullsecret.io/awaited-since",
  /**
   * On the DaemonSet's template: digest of the rest of it, so that an upgrade's pods can be told
   * from older ones.
   */
  template: "globalpullsecret.io/template",
} as const;

/** Prefix of our annotations until version 0.1; it was no domain. */
const formerPrefix = "global-pull-secret/";

/**
 * The value of one of our annotations, under the name that it had before version 0.2 if need be: an
 * upgrade finds what the older controller remembered. Nothing is written under that name.
 */
export function annotationOf(metadata: V1ObjectMeta | undefined, name: string): string | undefined {
  const former = formerPrefix + name.slice(name.indexOf("/") + 1);
  return metadata?.annotations?.[name] ?? metadata?.annotations?.[former];
}

/** True when we made the object, whatever was edited on it since. */
export function isOurs(metadata: V1ObjectMeta | undefined): boolean {
  if (metadata?.labels?.[ownerLabel] === ownerLabels[ownerLabel]) return true;
  return (metadata?.managedFields ?? []).some(
    ({ manager, operation }) =>
      (manager === fieldManager || manager === stateManager) && operation === "Apply",
  );
}
