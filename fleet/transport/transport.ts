/**
 * Describes how the content gets to one cluster: which objects we place, and what proves that the
 * content arrived. Pure.
 */
import type { KubernetesObject } from "@kubernetes/client-node";
import type { WatchTarget } from "#kube/watch/watch.ts";
import { type Content, isPlacedBy, placed } from "../rules/content.ts";
import type { Proof } from "./proof.ts";
import { secretsIn } from "#kube/client/paths.ts";
import { keptSecret, type KeptSecret } from "./excerpt.ts";

/** An object to place and follow. */
export type Placement = Readonly<{
  target: WatchTarget;
  /** The object to apply, with exactly these fields. */
  body: (content: Content, owner: string) => Placed;
  /** True when the kept object has the content. We ignore additions by other clients. */
  has: (object: KubernetesObject, content: Content, owner: string) => boolean;
  /** True if an immutable field differs, so we delete the object and create it again. */
  fixed: (object: KubernetesObject, content: Content) => boolean;
  /**
   * True when other clients have added to our fields, so we replace the object. An apply would not
   * remove their additions.
   */
  crowded: (object: KubernetesObject, content: Content) => boolean;
}>;

type Placed = Readonly<{ apiVersion: string; kind: string; metadata: object }>;

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
    body: (content, owner) => placed(contentFor(content, owner), owner, where),
    has: (object: Partial<KeptSecret>, content, owner) =>
      isPlacedBy(object, owner) && object.digest === contentFor(content, owner).digest,
    fixed: ({ type = "Opaque", immutable }: Partial<KeptSecret>, content) =>
      type !== contentFor(content, "").type || immutable === true,
    crowded: ({ keys = [] }: Partial<KeptSecret>, content) =>
      keys.some((key) => !Object.hasOwn(contentFor(content, "").data, key)),
  };
}
