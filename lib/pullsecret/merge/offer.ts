/** Groups the sources' entries by the images that they serve. A merge chooses from each group. */
import { sourceIds } from "#contract/names.ts";
import { imagesOf } from "../registry/key.ts";
import { isHubLogin } from "../registry/registry.ts";
import type { Accepted, Entry } from "../document/parse.ts";

/** An accepted source with the id that names it in the result. */
export type MergeSource = Readonly<{ id: string; accepted: Accepted }>;

/**
 * One source's entries for the same images. There are several entries if a source has Docker Hub
 * under both of its names, or if an original has a registry in several spellings. `tried`: the
 * entries that the kubelet tries; docker login's key is not tried beside `docker.io`.
 */
export type Offer = Readonly<{
  id: string;
  tried: readonly [Entry, ...Entry[]];
  all: readonly Entry[];
}>;

/** All offers for the same images, the highest first. */
export type Offers = readonly [Offer, ...Offer[]];

export const isOriginal = ({ id }: Readonly<{ id: string }>): boolean => id === sourceIds.original;

/**
 * Whether every credential that the kubelet tries for `offer` is also tried for `other`, under any
 * key. If `other` is the original's offer, `other` can have more credentials.
 */
export function agree(offer: Offer, other: Offer): boolean {
  return offer.tried.every(({ credential }) =>
    other.tried.some((entry) => entry.credential.equals(credential)),
  );
}

/**
 * Images, as imagesOf identifies them → their offers, in the order of the sources, highest first.
 */
export function offersOf(sources: readonly MergeSource[]): ReadonlyMap<string, Offers> {
  const offers = new Map<string, [Offer, ...Offer[]]>();
  for (const { id, accepted } of sources)
    for (const entry of accepted.entries) {
      const images = imagesOf(entry.registry);
      const present = offers.get(images);
      const last = present?.at(-1);
      if (present === undefined) offers.set(images, [{ id, tried: [entry], all: [entry] }]);
      else if (last?.id === id) present[present.length - 1] = both(last, entry);
      else present.push({ id, tried: [entry], all: [entry] });
    }
  return offers;
}

function both({ id, tried: [first, ...more], all }: Offer, other: Entry): Offer {
  const everything = [...all, other];
  if (isHubLogin(first.registry) === isHubLogin(other.registry))
    return { id, tried: [first, ...more, other], all: everything };
  // The kubelet falls back to docker login's key only if no other key matches.
  const isLost = isHubLogin(other.registry);
  return { id, tried: isLost ? [first, ...more] : [other], all: everything };
}

/** The name of a source within a sentence. */
export function called(id: string): string {
  return id === sourceIds.original || id === sourceIds.additional ? `the ${id}` : id;
}
