/** What each source has for the same images: all that a merge chooses from. */
import { sourceIds } from "#contract/names.ts";
import { imagesOf, meaningOf } from "../registry/key.ts";
import { dockerHubKey } from "../registry/registry.ts";
import type { Accepted, Entry } from "../document/parse.ts";

/** An accepted source under the id that the result names it by. */
export type MergeSource = Readonly<{ id: string; accepted: Accepted }>;

/**
 * One source's entries for the same images: the one that the kubelet tries first, and all. There
 * are two where a source has Docker Hub under both of its names.
 */
export type Offer = Readonly<{ id: string; entry: Entry; all: readonly Entry[] }>;

/** All for the same images, the highest first. */
export type Offers = readonly [Offer, ...Offer[]];

export const isOriginal = ({ id }: Readonly<{ id: string }>): boolean => id === sourceIds.original;

/** Whether both have the same credential. */
export const agree = (one: Offer, other: Offer): boolean =>
  one.entry.credential.equals(other.entry.credential);

/** Whether both make the kubelet do the same: the credential agrees, and the key. */
export const isSame = (one: Offer, other: Offer): boolean =>
  agree(one, other) && meaningOf(one.entry.registry) === meaningOf(other.entry.registry);

/**
 * Images, by imagesOf → the offers for them, in the order of the sources, which are the highest
 * first.
 */
export function offersOf(sources: readonly MergeSource[]): ReadonlyMap<string, Offers> {
  const offers = new Map<string, [Offer, ...Offer[]]>();
  for (const { id, accepted } of sources)
    for (const entry of accepted.entries) {
      const images = imagesOf(entry.registry);
      const present = offers.get(images);
      const last = present?.at(-1);
      if (present === undefined) offers.set(images, [{ id, entry, all: [entry] }]);
      else if (last?.id === id) present[present.length - 1] = both(last, entry);
      else present.push({ id, entry, all: [entry] });
    }
  return offers;
}

/** The kubelet falls back to docker login's key only if no other matches. */
function both({ id, entry, all }: Offer, other: Entry): Offer {
  const first = entry.registry === dockerHubKey ? other : entry;
  return { id, entry: first, all: [...all, other] };
}

/** A source in the midst of a sentence. */
export function called(id: string): string {
  return id === sourceIds.original || id === sourceIds.additional ? `the ${id}` : id;
}
