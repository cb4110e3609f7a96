/**
 * The three-way merge of config.json: what lies there now, what we put there last, what is
 * desired.
 *
 * Entries and top-level keys that are not ours stay as they are. Where one of ours takes the place
 * of another, the other is remembered under its own key and given back: the kubelet takes
 * `https://a.io` and `a.io` for the same registry, and would try both in random order; and it would
 * try `docker.io` in place of docker login's key for Docker Hub. Whoever writes over
 * an entry of ours loses while we are in force, and is given back: we cannot tell a mistake from a
 * newer wish, and a removal must not lose either.
 */
import { aliases, digest } from "./compare.ts";
import type { NodeDocument } from "./document.ts";
import { type RawJson, plain, valueOf } from "./value.ts";
import { imagesOf } from "#pullsecret/registry/key.ts";
import { type Former, formerOf, joined, kept, without } from "#agent/journal/former.ts";
import type { Owned } from "#agent/journal/journal.ts";
import type { Desired } from "../mount.ts";

type Own = Owned["entries"][number];

export type MergeResult = Readonly<{ document: NodeDocument; owned: Owned }>;

/**
 * How many of our own former values are recognized, should another program restore one from a copy.
 */
const generations = 8;

/**
 * Puts `desired` in force over `current`. Applying the result again changes nothing. `isFirst`: no
 * journal records what is ours.
 */
export function put(
  current: NodeDocument,
  owned: Owned,
  desired: Desired,
  isFirst = false,
): MergeResult {
  const gone = {
    entries: owned.entries.filter(({ key }) => !desired.entries.has(key)),
    rest: owned.rest.filter(({ key }) => !desired.rest.has(key)),
  };
  const isOld = olderThan(owned);
  const cleared = withoutOld(withdraw(current, gone, owned), isOld, desired);
  const auths = new Map(cleared.auths);
  const rest = new Map(cleared.rest);
  const known = new Map(owned.entries.map((one) => [one.key, one]));
  /** A key of others goes to the first of ours that it stands beside; Docker Hub may have two. */
  const taken = new Set<string>();
  const entries = [...desired.entries].map(([key, { value, original, vacant }]) => {
    const mine = known.get(key);
    // Without a journal, an additional entry equal to ours counts as ours, in whatever spelling. It
    // may have been lost, and a withdrawal would put back the very credential that it takes away.
    const ours = (raw: RawJson) =>
      (mine !== undefined && isOurs(raw, mine)) ||
      isOld(key, raw) ||
      (isFirst && !original && isOurs(raw, { wrote: [digest(value)] }));
    const beside = aliases(cleared, key).filter(
      (alias) => alias === key || !(desired.entries.has(alias) || taken.has(alias)),
    );
    for (const alias of beside) taken.add(alias);
    const foreign = beside.filter((alias) => !ours(auths.get(alias)));
    const displaced = foreign.map((alias) => ({
      key: alias,
      raw: JSON.stringify(auths.get(alias)),
    }));
    // A key that is there is replaced in place, so that the order of others' entries stays.
    for (const alias of beside) if (alias !== key || vacant) auths.delete(alias);
    if (vacant) return emptied(key, mine, displaced);
    const there = auths.get(key);
    // Keeping the same object tells a comparison at once that nothing has changed.
    auths.set(key, there !== undefined && digest(there) === digest(value) ? there : value);
    return own(key, value, mine, displaced);
  });
  const keys = [...desired.rest].map(([key, value]) => {
    const mine = owned.rest.find((one) => one.key === key);
    const there = rest.get(key);
    const foreign = rest.has(key) && !mine?.wrote.includes(digest(there));
    rest.set(key, value);
    return own(key, value, mine, foreign ? [{ key, raw: JSON.stringify(there) }] : []);
  });
  const former = formerBeside(owned, gone, entries);
  return { document: { auths, rest }, owned: { entries, rest: keys, ...kept(former) } };
}

type IsOld = (key: string, raw: RawJson) => boolean;

/**
 * Whether a value is one that was ours for these images, in whatever spelling. What ours have
 * displaced is not: a removal restores it.
 */
function olderThan({ former: all, entries }: Owned): IsOld {
  if (all === undefined) return () => false;
  const former = without(all, restoredBy(entries));
  const byImages = new Map<string, Set<string>>();
  for (const { key, wrote } of former) {
    const images = imagesOf(key);
    byImages.set(images, new Set([...(byImages.get(images) ?? []), ...wrote]));
  }
  return (key, raw) => {
    const known = byImages.get(imagesOf(key));
    return known !== undefined && (known.has(digest(raw)) || known.has(digest(plain(raw))));
  };
}

/** Without what was ours and came back, where nothing of ours belongs now. */
function withoutOld(document: NodeDocument, isOld: IsOld, desired: Desired): NodeDocument {
  const wanted = new Set([...desired.entries.keys()].map(imagesOf));
  const old = [...document.auths].filter(
    ([key, raw]) => !wanted.has(imagesOf(key)) && isOld(key, raw),
  );
  // The same object, so that its index is not made anew at each look.
  if (old.length === 0) return document;
  const auths = new Map(document.auths);
  for (const [key] of old) auths.delete(key);
  return { auths, rest: document.rest };
}

/** What was ours and is no longer: registries that left, and values before the last eight. */
function formerBeside(owned: Owned, gone: Owned, entries: readonly Own[]): Former {
  return without(joined(owned.former, leftOf(owned.entries, entries)), restoredBy(gone.entries));
}

/** What the first list has written, and the second does not know of. */
function leftOf(entries: readonly Own[], now: readonly Own[]): Former {
  const known = new Map(now.map(({ key, wrote }) => [key, new Set(wrote)]));
  return entries.map(({ key, wrote }) => ({
    key,
    wrote: wrote.filter((one) => known.get(key)?.has(one) !== true),
  }));
}

/**
 * Whether a digest is of what these have displaced for the same images: once that is restored, it
 * is not ours, whatever we wrote.
 */
function restoredBy(entries: readonly Own[]): (key: string, digest: string) => boolean {
  const byImages = new Map<string, Set<string>>();
  for (const { key, displaced } of entries) {
    const theirs = displaced.map(({ raw }) => valueOf(raw));
    const digests = theirs.flatMap((raw) => [digest(raw), digest(plain(raw))]);
    byImages.set(imagesOf(key), new Set([...(byImages.get(imagesOf(key)) ?? []), ...digests]));
  }
  return (key, one) => byImages.get(imagesOf(key))?.has(one) === true;
}

/** See FoundFile.withdrawn. */
export function withdrawn(owned: Owned): Former {
  return without(formerOf(owned), restoredBy(owned.entries));
}

/**
 * What is ours once `restore` has undone a change: what was ours before it. What the change has
 * written is no longer, but is recognized if another program has a copy of it.
 */
export function ownedBefore(owned: Owned, before: Owned): Owned {
  const left = joined(before.former, leftOf(owned.entries, before.entries));
  return { ...before, ...kept(without(left, restoredBy(owned.entries))) };
}

/**
 * The node as if we had never been there, with one exception. Where it had an entry for a registry
 * before us, and the original pull secret has one too, the original's present value stays: a
 * rotation must not be undone.
 */
export function release(current: NodeDocument, owned: Owned, desired: Desired): MergeResult {
  const entries = owned.entries.map((one) => {
    const now = desired.entries.get(one.key);
    const kept =
      now?.original &&
      one.displaced.length > 0 &&
      !one.displaced.some(({ raw }) => same(raw, now.value));
    return kept
      ? { ...own(one.key, now.value, one, []), kept: now.value }
      : { ...one, kept: undefined };
  });
  const gone = { ...owned, entries: entries.filter(({ kept }) => kept === undefined) };
  const none = { entries: new Map(), rest: new Map() };
  const document = withoutOld(withdraw(current, gone, owned), olderThan(owned), none);
  const auths = new Map(document.auths);
  for (const { key, wrote, kept: stays } of entries) {
    if (stays !== undefined && (!auths.has(key) || wrote.includes(digest(auths.get(key)))))
      auths.set(key, stays);
  }
  const plain = entries.map(({ key, wrote, displaced }) => ({ key, wrote, displaced }));
  return { document: { auths, rest: document.rest }, owned: { ...owned, entries: plain } };
}

/**
 * Undoes one change (from `before`, where `ownedBefore` was ours, to what `owned` says): at the
 * registries and keys of both, what `before` had; everything else as it is now. What others wrote
 * there meanwhile stands.
 */
export function restore(
  current: NodeDocument,
  owned: Owned,
  before: NodeDocument,
  ownedBefore: Owned,
): NodeDocument {
  const auths = new Map(current.auths);
  for (const [, { key, known }] of knownValues(imagesOf, owned.entries, ownedBefore.entries)) {
    const now = aliases(current, key);
    const isKnown = (raw: RawJson) => known.has(digest(raw)) || known.has(digest(plain(raw)));
    if (now.some((alias) => !isKnown(current.auths.get(alias)))) continue;
    for (const alias of now) auths.delete(alias);
    for (const alias of aliases(before, key)) auths.set(alias, before.auths.get(alias));
  }
  const rest = new Map(current.rest);
  for (const [key, { known }] of knownValues(String, owned.rest, ownedBefore.rest)) {
    if (rest.has(key) && !known.has(digest(rest.get(key)))) continue;
    rest.delete(key);
    if (before.rest.has(key)) rest.set(key, before.rest.get(key));
  }
  return { auths, rest };
}

type Place = Readonly<{ key: string; known: Set<string> }>;

/** Place → one of its keys, and the digests of every value that we wrote or gave back there. */
function knownValues(
  placeOf: (key: string) => string,
  ...lists: readonly (readonly Own[])[]
): Map<string, Place> {
  const places = new Map<string, Place>();
  for (const { key, wrote, displaced } of lists.flat()) {
    const place = places.get(placeOf(key)) ?? { key, known: new Set() };
    places.set(placeOf(key), place);
    for (const one of wrote) place.known.add(one);
    for (const { raw } of displaced) place.known.add(digest(valueOf(raw)));
  }
  return places;
}

/**
 * Whether a value is ours, also as other programs rewrite it: with an e-mail address, as user and
 * password, or under `https://`. Taken for theirs, it would be given back on removal, and the
 * withdrawn credential would stay on the node.
 */
function isOurs(raw: RawJson, { wrote }: Pick<Own, "wrote">): boolean {
  return wrote.includes(digest(raw)) || wrote.includes(digest(plain(raw)));
}

/**
 * What may be ours while the file is being replaced. Until that is done, what only the older record
 * knows may still be there, and must not be taken for somebody else's.
 */
export function either(newer: Owned, older: Owned): Owned {
  const join = (now: readonly Own[], then: readonly Own[]) => {
    const known = new Set(now.map(({ key }) => key));
    return [...now, ...then.filter(({ key }) => !known.has(key))];
  };
  return {
    entries: join(newer.entries, older.entries),
    rest: join(newer.rest, older.rest),
    ...kept(joined(older.former, newer.former)),
  };
}

/** Whether everything that we put there last is still there. Needs no Secret. */
export function holds(current: NodeDocument, owned: Owned): boolean {
  const standing = new Set(owned.entries.filter(({ vacant }) => !vacant).map(({ key }) => key));
  return (
    owned.entries.every(
      (one) =>
        (one.vacant === true || stands(one, current.auths)) &&
        aliases(current, one.key).every((alias) => standing.has(alias)),
    ) && owned.rest.every((one) => stands(one, current.rest))
  );
}

function stands({ key, wrote }: Own, there: ReadonlyMap<string, RawJson>): boolean {
  return there.has(key) && digest(there.get(key)) === wrote.at(-1);
}

/** Takes out what is `owned`. `all`: with what stays ours, such as Docker Hub's other name. */
function withdraw(current: NodeDocument, owned: Owned, all: Owned): NodeDocument {
  // The same object, so that its index is not made anew at each look.
  if (owned.entries.length + owned.rest.length === 0) return current;
  const auths = new Map(current.auths);
  const rest = new Map(current.rest);
  const stays = new Map(all.entries.map((one) => [one.key, one]));
  for (const { key } of owned.entries) stays.delete(key);
  for (const one of owned.entries)
    for (const alias of aliases(current, one.key))
      if (auths.has(alias) && !stays.has(alias) && isOurs(auths.get(alias), one))
        auths.delete(alias);
  // A newer foreign entry for these images stays, and makes the displaced one obsolete.
  const isForeign = (alias: string): boolean => {
    const mine = stays.get(alias);
    return auths.has(alias) && !(mine && isOurs(auths.get(alias), mine));
  };
  const vacated = owned.entries.filter(({ key }) => !aliases(current, key).some(isForeign));
  for (const { displaced } of vacated)
    for (const { key, raw } of displaced) auths.set(key, valueOf(raw));
  for (const one of owned.rest) {
    if (rest.has(one.key) && !one.wrote.includes(digest(rest.get(one.key)))) continue;
    rest.delete(one.key);
    for (const { key, raw } of one.displaced) rest.set(key, valueOf(raw));
  }
  return { auths, rest };
}

function own(key: string, value: RawJson, mine: Own | undefined, displaced: Own["displaced"]): Own {
  const now = digest(value);
  const before = (mine?.wrote ?? []).filter((one) => one !== now);
  const wrote = [...before, now].slice(-generations);
  return { key, wrote, displaced: withOlder(mine, displaced) };
}

/** The record of a place that we keep empty. What we wrote there earlier is ours still. */
function emptied(key: string, mine: Own | undefined, displaced: Own["displaced"]): Own {
  const wrote = mine?.wrote ?? [];
  return { key, wrote, displaced: withOlder(mine, displaced), vacant: true };
}

function withOlder(mine: Own | undefined, displaced: Own["displaced"]): Own["displaced"] {
  const newer = new Set(displaced.map((one) => one.key));
  return [...(mine?.displaced ?? []).filter((one) => !newer.has(one.key)), ...displaced];
}

function same(raw: string, value: RawJson): boolean {
  return digest(valueOf(raw)) === digest(value);
}
