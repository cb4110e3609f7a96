/**
 * What was ours and is no longer, by its digests: a program that writes an older copy of the file
 * back, such as a login tool or a nightly backup, must not bring a withdrawn credential back while
 * the node has a journal. Pure.
 */
import type { Owned } from "./schema.ts";

export type Former = NonNullable<Owned["former"]>;

/** Most digests that are kept, 46 bytes each: five months of a token that changes every hour. */
const mostDigests = 4000;

/** Both lists as one, `newer` last; of too many digests the oldest go. */
export function joined(older: Former | undefined, newer: Former | undefined): Former {
  const byKey = new Map<string, Set<string>>();
  for (const { key, wrote } of [...(older ?? []), ...(newer ?? [])]) {
    const known = byKey.get(key) ?? new Set<string>();
    byKey.set(key, known);
    for (const one of wrote) known.add(one);
  }
  let left = mostDigests;
  const lists = [...byKey].toReversed().map(([key, digests]) => {
    const wrote = left > 0 ? [...digests].slice(-left) : [];
    left -= wrote.length;
    return { key, wrote };
  });
  return lists.filter(({ wrote }) => wrote.length > 0).toReversed();
}

/** All that is or was ours there, as if nothing of it were ours any more. */
export function formerOf({ entries, former }: Owned): Former {
  return joined(
    former,
    entries.map(({ key, wrote }) => ({ key, wrote })),
  );
}

/** Without those that are not ours after all, because another program had the same before us. */
export function without(
  former: Former,
  isTheirs: (key: string, digest: string) => boolean,
): Former {
  return former
    .map(({ key, wrote }) => ({ key, wrote: wrote.filter((one) => !isTheirs(key, one)) }))
    .filter(({ wrote }) => wrote.length > 0);
}

/** The part of a record of ownership; nothing where there is none. */
export function kept(former: Former): Pick<Owned, "former"> {
  return former.length > 0 ? { former } : {};
}
