/** What each source has for a registry: all that a merge chooses from. */
import { sourceIds } from "#contract/names.ts";
import { meaningOf } from "../registry/key.ts";
import type { Accepted, Entry } from "../document/parse.ts";

/** An accepted source under the id that the result names it by. */
export type MergeSource = Readonly<{ id: string; accepted: Accepted }>;

/** One source's entry for a registry. */
export type Offer = Readonly<{ id: string; entry: Entry }>;

/** All of one registry, the highest first. */
export type Offers = readonly [Offer, ...Offer[]];

export const isOriginal = ({ id }: Readonly<{ id: string }>): boolean => id === sourceIds.original;

export const agree = (one: Offer, other: Offer): boolean =>
  one.entry.credential.equals(other.entry.credential);

/** What a registry means → its offers, in the order of the sources, which are the highest first. */
export function offersOf(sources: readonly MergeSource[]): ReadonlyMap<string, Offers> {
  const offers = new Map<string, [Offer, ...Offer[]]>();
  for (const { id, accepted } of sources)
    for (const entry of accepted.entries) {
      const meaning = meaningOf(entry.registry);
      const present = offers.get(meaning);
      if (present === undefined) offers.set(meaning, [{ id, entry }]);
      else present.push({ id, entry });
    }
  return offers;
}

/** A source in the midst of a sentence. */
export function called(id: string): string {
  return id === sourceIds.original || id === sourceIds.additional ? `the ${id}` : id;
}
