/**
 * How the content gets to one cluster: what is placed where, and what shows that it arrived. Pure.
 */
import type { KubernetesObject } from "@kubernetes/client-node";
import type { WatchTarget } from "#kube/watch/watch.ts";
import type { Content } from "../secret/content.ts";
import type { Proof } from "./proof.ts";

/** An object that is placed and followed. */
export type Placement = Readonly<{
  target: WatchTarget;
  /** The object as it is placed, by an apply of exactly these fields. */
  body: (content: Content, owner: string) => Placed;
  /** True when the found object is that one; additions by others do not count. */
  has: (found: KubernetesObject, content: Content, owner: string) => boolean;
  /**
   * True for a difference in an immutable field: the object has to be deleted and created again.
   */
  fixed: (found: KubernetesObject, content: Content) => boolean;
  /** True when others have added to fields of ours, which an apply would leave in place. */
  crowded: (found: KubernetesObject, content: Content) => boolean;
}>;

type Placed = Readonly<{ apiVersion: string; kind: string; metadata: object }>;

/** What a watch has shown of an object. */
export type Seen =
  /** Nothing yet. */
  | Readonly<{ is: "unknown" }>
  /** `failing`: why nothing later can be shown now. */
  | Readonly<{ is: "shown"; object: KubernetesObject | undefined; failing?: string }>
  /**
   * Never shown: the collection is not served, may not be read, or cannot be. `status` is the HTTP
   * status, 0 for no answer; `why` has its reason as well, and nothing else of the answer.
   */
  | Readonly<{ is: "refused"; status: number; why: string }>;

export type Way = Readonly<{
  /** Objects in the order in which they are placed; they are removed in reverse order. */
  placed: readonly Placement[];
  /** An object that is followed for the proof only, as far as that is allowed. */
  witness?: WatchTarget;
  /** Called once everything that is placed has the content: tells whether that is enough. */
  proof: (found: readonly (KubernetesObject | undefined)[], witness: Seen | undefined) => Proof;
}>;
