/**
 * Describes how the content gets to one cluster: which objects we place, and what proves that the
 * content arrived. Pure.
 */
import type { KubernetesObject } from "@kubernetes/client-node";
import type { Desired, LiveCopy } from "#kube/apply/copy.ts";
import type { WatchTarget } from "#kube/watch/watch.ts";
import { type Content, placed } from "../rules/content.ts";
import type { Proof } from "./proof.ts";
import { secretsIn } from "#kube/client/paths.ts";
import { keptSecret } from "./excerpt.ts";

/** An object to place and follow. */
export type Placement = Readonly<{
  target: Omit<WatchTarget, "keep"> & Readonly<{ keep: (object: KubernetesObject) => LiveCopy }>;
  desired: (content: Content, owner: string) => Desired;
}>;

/** The last state of an object, as its watch has shown it. */
export type Seen =
  | Readonly<{ is: "unknown" }>
  /** `failing`: why we cannot read a later version now. */
  | Readonly<{ is: "shown"; object: KubernetesObject | undefined; failing?: string }>
  /**
   * We could not read the object: its collection does not exist, we have no right to read it, or
   * the reads fail. `status` is the HTTP status, or 0 without an answer. `why` contains only the
   * status and the reason of the answer.
   */
  | Readonly<{ is: "refused"; status: number; why: string }>;

export type Transport = Readonly<{
  /** Objects in the order in which we place them. We remove them in reverse order. */
  placed: readonly Placement[];
  /** An object that we watch only for the proof, if we are allowed to read it. */
  witness?: WatchTarget;
  /** Called when all placed objects have the content. Decides whether the cluster is done. */
  proof: (objects: readonly (KubernetesObject | undefined)[], witness: Seen | undefined) => Proof;
}>;

export type NamespacedName = Readonly<{ namespace: string; name: string }>;

/** A Secret to place, with the name and namespace in `where`. `contentFor` derives its content. */
export function secretAt(
  where: NamespacedName,
  contentFor: (content: Content, owner: string) => Content = (content) => content,
): Placement {
  return {
    target: { collection: secretsIn(where.namespace), name: where.name, keep: keptSecret },
    desired(content, owner) {
      const its = contentFor(content, owner);
      return { body: placed(its, owner, where), digest: its.digest };
    },
  };
}
