/**
 * How the content gets to one cluster: what is placed where for it, and what shows that it is
 * there. Pure.
 */
import type { KubernetesObject } from "@kubernetes/client-node";
import type { Target } from "#kube/watch/watch.ts";
import type { Content } from "../secret/content.ts";
import type { Proof } from "./proof.ts";

/** An object that is placed, and followed. */
export type Placement = Readonly<{
  target: Target;
  /** As it is placed: by an apply of exactly these fields. */
  body: (content: Content, owner: string) => Placed;
  /** Whether what is there is that; what others may add to it does not count. */
  has: (found: KubernetesObject, content: Content, owner: string) => boolean;
  /** A difference that the API server lets nobody change: it has to be deleted and made anew. */
  fixed: (found: KubernetesObject, content: Content) => boolean;
  /** Fields of ours that others have added to, so that an apply would leave theirs. */
  crowded: (found: KubernetesObject, content: Content) => boolean;
}>;

type Placed = Readonly<{ apiVersion: string; kind: string; metadata: object }>;

/** What a follow has shown of an object. */
export type Seen =
  /** Nothing yet. */
  | Readonly<{ is: "unknown" }>
  | Readonly<{ is: "shown"; object: KubernetesObject | undefined }>
  /** The collection is not served, or may not be read: `status` is the HTTP status. */
  | Readonly<{ is: "refused"; status: number }>;

export type Way = Readonly<{
  /** In the order in which they are placed; they are taken away in the other one. */
  placed: readonly Placement[];
  /** Followed besides, as far as it may be, for the proof. */
  witness?: Target;
  /** Called where everything that is placed has the content: whether that is all there is to it. */
  proof: (found: readonly (KubernetesObject | undefined)[], witness: Seen | undefined) => Proof;
}>;
