/**
 * A note of the controller, as an annotation on global-pull-secret. It outlives the controller and
 * is deleted with the Secret.
 */
import type { V1Secret } from "@kubernetes/client-node";
import type { Cluster } from "#kube/client/cluster.ts";
import { owned } from "#kube/client/paths.ts";

/** The release that is complete. 0: none. */
export const releasedIn = (secret: V1Secret | undefined): number =>
  Number(secret?.metadata?.annotations?.[annotations.released] ?? 0) || 0;

/** Records that the release of this revision is complete. Returns the resulting Secret. */
export async function recordReleased(
  cluster: Cluster,
  secret: V1Secret,
  revision: number,
): Promise<V1Secret> {
  if (releasedIn(secret) === revision) return secret;
  // With the version, a controller that was suspended cannot overwrite the note of the next
  // controller.
  const { uid = "", resourceVersion = "" } = secret.metadata ?? {};
  const note = { [annotations.released]: String(revision) };
  return cluster.patch(owned.global, { metadata: { uid, resourceVersion, annotations: note } });
}

/** Annotations that record what the objects themselves do not show. */
export const annotations = {
  /**
   * On global-pull-secret: the release for which the controller no longer waits. After that, a
   * removal deletes the objects.
   */
  released: "globalpullsecret.io/released",
  /** On global-pull-secret: when its newest content was published. */
  published: "globalpullsecret.io/published",
  /**
   * On the DaemonSet's template: the template's digest. It distinguishes the pods of an upgrade
   * from older pods.
   */
  template: "globalpullsecret.io/template",
  /** On the DaemonSet's template: a `PublishedMode`. Pods without this annotation are not asked. */
  mode: "globalpullsecret.io/mode",
} as const;
