/**
 * Notes of the controller, as annotations on global-pull-secret. They outlive the controller and
 * are deleted with the Secret.
 */
import type { V1Secret } from "@kubernetes/client-node";
import { globalSecretName, namespace } from "#contract/names.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { annotationManager } from "#kube/client/ownership.ts";
import { owned } from "#kube/client/paths.ts";

export type Notes = Readonly<{
  /** True if content might have reached a node. Undefined: unknown. */
  rolled: boolean | undefined;
  /** The revision that has removed our entries from every node. 0: none. */
  released: number;
}>;

export function recall(secret: V1Secret | undefined): Notes {
  const value = (name: string) => secret?.metadata?.annotations?.[name];
  const rolled = value(annotations.rolled);
  return {
    rolled: rolled === "true" ? true : rolled === "false" ? false : undefined,
    released: Number(value(annotations.released) ?? 0) || 0,
  };
}

/** Writes the notes if they changed. Returns the resulting Secret. */
export async function remember(
  cluster: Cluster,
  secret: V1Secret,
  notes: Notes,
): Promise<V1Secret> {
  const before = secret.metadata?.annotations ?? {};
  const after = {
    ...(notes.rolled === undefined ? {} : { [annotations.rolled]: String(notes.rolled) }),
    ...(notes.released > 0 ? { [annotations.released]: String(notes.released) } : {}),
  };
  const same = [annotations.rolled, annotations.released].every(
    (name) => before[name] === (after as Record<string, string>)[name],
  );
  if (same) return secret;
  const { uid, resourceVersion } = secret.metadata ?? {};
  if (uid === undefined)
    throw new ApiError({ status: 409, reason: "NoUid", method: "PATCH", path: owned.global });
  // With the uid, the apply cannot create a Secret without data if someone has deleted our Secret.
  // With the version, a controller that was suspended cannot overwrite the notes of the next
  // controller.
  const metadata = { name: globalSecretName, namespace, uid, resourceVersion, annotations: after };
  return cluster.apply<V1Secret>(
    owned.global,
    { apiVersion: "v1", kind: "Secret", metadata },
    { manager: annotationManager, force: true },
  );
}

/** Annotations that record what the objects themselves do not show. */
export const annotations = {
  /**
   * On global-pull-secret: `false` until the first grant, then `true`. Only while this annotation
   * is `false`, a removal deletes everything without waiting for the nodes.
   */
  rolled: "globalpullsecret.io/rolled",
  /**
   * On global-pull-secret: the revision that has removed our entries from every node. After that, a
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
  /** On the DaemonSet's template: a `PublishedMode`. Pods without this annotation ignore grants. */
  mode: "globalpullsecret.io/mode",
} as const;
