/** A Secret as it is placed. Pure. */
import type { KubernetesObject, V1Secret } from "@kubernetes/client-node";
import { secretsIn } from "#kube/client/paths.ts";
import { has, isPlacedBy, placed, type Content } from "../secret/content.ts";
import { keptSecret } from "./excerpt.ts";
import type { Placement } from "./way.ts";

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
