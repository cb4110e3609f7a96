/**
 * How the content gets to one cluster: what is placed where, and what shows that it arrived. Pure.
 */
import type { KubernetesObject, V1Secret } from "@kubernetes/client-node";
import type { WatchTarget } from "#kube/watch/watch.ts";
import { type Content, has, isPlacedBy, placed } from "../rules/content.ts";
import type { Proof } from "./proof.ts";
import { secretsIn } from "#kube/client/paths.ts";
import { keptSecret } from "./excerpt.ts";

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

export type Transport = Readonly<{
  /** Objects in the order in which they are placed; they are removed in reverse order. */
  placed: readonly Placement[];
  /** Objects of a former version of ours, which give way to those that are placed. */
  former?: readonly WatchTarget[];
  /** An object that is followed for the proof only, as far as that is allowed. */
  witness?: WatchTarget;
  /** Called once everything that is placed has the content: tells whether that is enough. */
  proof: (found: readonly (KubernetesObject | undefined)[], witness: Seen | undefined) => Proof;
}>;

export type Where = Readonly<{ namespace: string; name: string }>;

/** The Secret `where`, with what `made` makes of the content. */
export function secretAt(
  where: Where,
  made: (content: Content, owner: string) => Content = (content) => content,
): Placement {
  return {
    target: { collection: secretsIn(where.namespace), name: where.name, keep: keptSecret },
    body: (content, owner) => placed(made(content, owner), owner, where),
    has: (found, content, owner) => isPlacedBy(found, owner) && has(found, made(content, owner)),
    fixed: (found, content) => typeOf(found) !== made(content, "").type || isImmutable(found),
    crowded: (found, content) =>
      Object.keys(dataOf(found)).some((key) => !Object.hasOwn(made(content, "").data, key)),
  };
}

const isImmutable = ({ immutable }: KubernetesObject & V1Secret): boolean => immutable === true;
const typeOf = ({ type = "Opaque" }: KubernetesObject & V1Secret): string => type;
const dataOf = ({ data = {} }: KubernetesObject & V1Secret) => data;
