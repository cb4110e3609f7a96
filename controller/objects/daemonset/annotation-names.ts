/** The controller's own annotations, and how their values are found after an upgrade. */
import type { V1ObjectMeta } from "@kubernetes/client-node";

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
