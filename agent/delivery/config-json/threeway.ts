/**
 * The three-way merge of config.json: the present content, what we wrote last, and the desired
 * content.
 *
 * Entries and top-level keys of other programs stay as they are. If our entry replaces a foreign
 * entry, we record the foreign entry under its own key and restore it on removal. Our entry
 * replaces every spelling of its registry, because the kubelet would try `https://a.io` and `a.io`
 * in random order. For Docker Hub, the kubelet would prefer `docker.io` to docker login's key.
 *
 * If another program overwrites our entry, we write ours again, and restore the other program's
 * entry on removal. We do not know whether that entry is a mistake, so we must not lose it.
 */
import { aliases, digest } from "./compare.ts";
import { type NodeDocument, type RawJson, plain, valueOf } from "./document.ts";
import { imagesOf } from "#pullsecret/registry/key.ts";
import {
  type Former,
  joinFormer,
  formerField,
  withoutTheirs,
  type Owned,
} from "#agent/journal/journal.ts";
import type { Desired } from "../mount.ts";

type Own = Owned["entries"][number];

export type MergeResult = Readonly<{ document: NodeDocument; owned: Owned }>;

/** How many digests of our values an entry records. Older digests move to `former`. */
const generations = 8;

/**
 * Puts `desired` in force over `current`. A second call with the result changes nothing. `isFirst`:
 * no journal lists our entries.
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
  const isOld = formerMatcher(owned);
  const cleared = withoutFormer(withdraw(current, gone, owned), isOld, desired);
  const auths = new Map(cleared.auths);
  const rest = new Map(cleared.rest);
  const ownedByKey = new Map(owned.entries.map((entry) => [entry.key, entry]));
  /**
   * Keys that are assigned to one of our entries. A foreign key is assigned to the first of our
   * entries for the same images. For Docker Hub we can have two such entries.
   */
  const taken = new Set<string>();
  const entries = [...desired.entries].map(([key, { value, original, vacant }]) => {
    const mine = ownedByKey.get(key);
    // Without a journal, an entry of the file counts as ours if it equals our additional entry, in
    // any spelling. The journal might have been lost. Without this rule, a withdrawal would restore
    // the credential that it must remove.
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
    // An existing key is replaced in place, so that the order of other programs' entries stays.
    for (const alias of beside) if (alias !== key || vacant) auths.delete(alias);
    if (vacant) return vacantRecord(key, mine, displaced);
    const currentValue = auths.get(key);
    // If we keep the same object, a comparison sees at once that nothing has changed.
    auths.set(
      key,
      currentValue !== undefined && digest(currentValue) === digest(value) ? currentValue : value,
    );
    return ownRecord(key, value, mine, displaced);
  });
  const keys = [...desired.rest].map(([key, value]) => {
    const mine = owned.rest.find((entry) => entry.key === key);
    const currentValue = rest.get(key);
    const foreign = rest.has(key) && !mine?.wrote.includes(digest(currentValue));
    rest.set(key, value);
    return ownRecord(key, value, mine, foreign ? [{ key, raw: JSON.stringify(currentValue) }] : []);
  });
  const former = formerBeside(owned, gone, entries);
  return { document: { auths, rest }, owned: { entries, rest: keys, ...formerField(former) } };
}

type IsFormer = (key: string, raw: RawJson) => boolean;

/**
 * Matches values that were ours for the same images, in any spelling. Values that our entries have
 * displaced do not match, because a removal restores these values.
 */
function formerMatcher({ former: all, entries }: Owned): IsFormer {
  if (all === undefined) return () => false;
  const former = withoutTheirs(all, restoredBy(entries));
  const byImages = new Map<string, Set<string>>();
  for (const { key, wrote } of former) {
    const images = imagesOf(key);
    byImages.set(images, new Set([...(byImages.get(images) ?? []), ...wrote]));
  }
  return (key, raw) => {
    const digests = byImages.get(imagesOf(key));
    return digests !== undefined && (digests.has(digest(raw)) || digests.has(digest(plain(raw))));
  };
}

/**
 * Removes values that were once ours and that another program has restored, at registries for which
 * we want no entry now.
 */
function withoutFormer(document: NodeDocument, isOld: IsFormer, desired: Desired): NodeDocument {
  const desiredImages = new Set([...desired.entries.keys()].map(imagesOf));
  const old = [...document.auths].filter(
    ([key, raw]) => !desiredImages.has(imagesOf(key)) && isOld(key, raw),
  );
  // Return the same object, so that its index is not built again in each round.
  if (old.length === 0) return document;
  const auths = new Map(document.auths);
  for (const [key] of old) auths.delete(key);
  return { auths, rest: document.rest };
}

/**
 * Values that are not ours any more: those of removed registries, and values older than the last
 * eight.
 */
function formerBeside(owned: Owned, gone: Owned, entries: readonly Own[]): Former {
  return withoutTheirs(
    joinFormer(owned.former, leftOf(owned.entries, entries)),
    restoredBy(gone.entries),
  );
}

/** Digests of our values in the first list that the second list does not contain. */
function leftOf(entries: readonly Own[], now: readonly Own[]): Former {
  const digestsByKey = new Map(now.map(({ key, wrote }) => [key, new Set(wrote)]));
  return entries.map(({ key, wrote }) => ({
    key,
    wrote: wrote.filter((valueDigest) => digestsByKey.get(key)?.has(valueDigest) !== true),
  }));
}

/**
 * Whether a digest belongs to a displaced value for the same images. A removal restores displaced
 * values, so they are not ours, even if we once wrote the same.
 */
function restoredBy(entries: readonly Own[]): (key: string, digest: string) => boolean {
  const byImages = new Map<string, Set<string>>();
  for (const { key, displaced } of entries) {
    const theirs = displaced.map(({ raw }) => valueOf(raw));
    const digests = theirs.flatMap((raw) => [digest(raw), digest(plain(raw))]);
    byImages.set(imagesOf(key), new Set([...(byImages.get(imagesOf(key)) ?? []), ...digests]));
  }
  return (key, valueDigest) => byImages.get(imagesOf(key))?.has(valueDigest) === true;
}

/**
 * Our entries after `restore` has undone a change: the same as before the change. The values that
 * the change wrote are not ours any more, but we still recognize them if another program restores a
 * copy.
 */
export function ownedBefore(owned: Owned, before: Owned): Owned {
  const former = joinFormer(before.former, leftOf(owned.entries, before.entries));
  return { ...before, ...formerField(withoutTheirs(former, restoredBy(owned.entries))) };
}

/**
 * Removes our entries of the registries that leave, and restores what they displaced. All other
 * entries stay.
 */
export function remove(
  current: NodeDocument,
  owned: Owned,
  isLeaving: (registry: string) => boolean,
): MergeResult {
  const gone = { entries: owned.entries.filter(({ key }) => isLeaving(key)), rest: [] };
  const entries = owned.entries.filter(({ key }) => !isLeaving(key));
  const former = formerField(formerBeside(owned, gone, entries));
  return { document: withdraw(current, gone, owned), owned: { ...owned, entries, ...former } };
}

/**
 * Restores the state before our first change, with one exception. If the node had its own entry
 * for a registry at that time, and the original pull secret also has this registry, the original's
 * current value stays, because we must not undo a rotation.
 */
export function release(current: NodeDocument, owned: Owned, desired: Desired): MergeResult {
  const entries = owned.entries.map((entry) => {
    const now = desired.entries.get(entry.key);
    const keepsOriginal =
      now?.original &&
      entry.displaced.length > 0 &&
      !entry.displaced.some(({ raw }) => same(raw, now.value));
    return keepsOriginal
      ? { ...ownRecord(entry.key, now.value, entry, []), kept: now.value }
      : { ...entry, kept: undefined };
  });
  const gone = {
    ...owned,
    entries: entries.filter(({ kept: original }) => original === undefined),
  };
  const none = { entries: new Map(), rest: new Map() };
  const document = withoutFormer(withdraw(current, gone, owned), formerMatcher(owned), none);
  const auths = new Map(document.auths);
  for (const { key, wrote, kept: stays } of entries) {
    if (stays !== undefined && (!auths.has(key) || wrote.includes(digest(auths.get(key)))))
      auths.set(key, stays);
  }
  const plain = entries.map(({ key, wrote, displaced }) => ({ key, wrote, displaced }));
  return { document: { auths, rest: document.rest }, owned: { ...owned, entries: plain } };
}

/**
 * Undoes one change. `before` and `ownedBefore`: the file and our entries before the change.
 * `owned`: our entries after the change. At the registries and keys of `ownedBefore` and `owned`,
 * restores what `before` had, unless another program wrote there meanwhile. Everything else stays
 * as it is now.
 */
export function restore(
  current: NodeDocument,
  owned: Owned,
  before: NodeDocument,
  ownedBefore: Owned,
): NodeDocument {
  const auths = new Map(current.auths);
  for (const [, { key, digests }] of knownValues(imagesOf, owned.entries, ownedBefore.entries)) {
    const now = aliases(current, key);
    const isKnown = (raw: RawJson) => digests.has(digest(raw)) || digests.has(digest(plain(raw)));
    if (now.some((alias) => !isKnown(current.auths.get(alias)))) continue;
    for (const alias of now) auths.delete(alias);
    for (const alias of aliases(before, key)) auths.set(alias, before.auths.get(alias));
  }
  const rest = new Map(current.rest);
  for (const [key, { digests }] of knownValues(String, owned.rest, ownedBefore.rest)) {
    if (rest.has(key) && !digests.has(digest(rest.get(key)))) continue;
    rest.delete(key);
    if (before.rest.has(key)) rest.set(key, before.rest.get(key));
  }
  return { auths, rest };
}

type Place = Readonly<{ key: string; digests: Set<string> }>;

/**
 * Place (a registry or a top-level key) → one of its keys, and the digests of every value that we
 * wrote or restored there.
 */
function knownValues(
  placeOf: (key: string) => string,
  ...lists: readonly (readonly Own[])[]
): Map<string, Place> {
  const places = new Map<string, Place>();
  for (const { key, wrote, displaced } of lists.flat()) {
    const place = places.get(placeOf(key)) ?? { key, digests: new Set() };
    places.set(placeOf(key), place);
    for (const valueDigest of wrote) place.digests.add(valueDigest);
    for (const { raw } of displaced) place.digests.add(digest(valueOf(raw)));
  }
  return places;
}

/**
 * Whether a value is ours, even if another program has rewritten it: with an e-mail address, as
 * user and password, or under `https://`. Without this rule, a removal would restore the rewritten
 * value, and the withdrawn credential would stay on the node.
 */
function isOurs(raw: RawJson, { wrote }: Pick<Own, "wrote">): boolean {
  return wrote.includes(digest(raw)) || wrote.includes(digest(plain(raw)));
}

/**
 * Entries that might be ours while the file is being replaced. The file might still have entries
 * that only the older record lists. Such entries must not count as foreign.
 */
export function union(newer: Owned, older: Owned): Owned {
  const join = (now: readonly Own[], then: readonly Own[]) => {
    const newerKeys = new Set(now.map(({ key }) => key));
    return [...now, ...then.filter(({ key }) => !newerKeys.has(key))];
  };
  return {
    entries: join(newer.entries, older.entries),
    rest: join(newer.rest, older.rest),
    ...formerField(joinFormer(older.former, newer.former)),
  };
}

/** Whether everything that we wrote last is still in place. Needs no Secret. */
export function holds(current: NodeDocument, owned: Owned): boolean {
  const present = new Set(owned.entries.filter(({ vacant }) => !vacant).map(({ key }) => key));
  return (
    owned.entries.every(
      (entry) =>
        (entry.vacant === true || isInPlace(entry, current.auths)) &&
        aliases(current, entry.key).every((alias) => present.has(alias)),
    ) && owned.rest.every((entry) => isInPlace(entry, current.rest))
  );
}

function isInPlace({ key, wrote }: Own, values: ReadonlyMap<string, RawJson>): boolean {
  return values.has(key) && digest(values.get(key)) === wrote.at(-1);
}

/**
 * Removes the entries `owned` and restores what they displaced. `all`: all of our entries. Some of
 * them can stay, such as an entry for Docker Hub's other name.
 */
function withdraw(current: NodeDocument, owned: Owned, all: Owned): NodeDocument {
  // Return the same object, so that its index is not built again in each round.
  if (owned.entries.length + owned.rest.length === 0) return current;
  const auths = new Map(current.auths);
  const rest = new Map(current.rest);
  const stays = new Map(all.entries.map((entry) => [entry.key, entry]));
  for (const { key } of owned.entries) stays.delete(key);
  for (const entry of owned.entries)
    for (const alias of aliases(current, entry.key))
      if (auths.has(alias) && !stays.has(alias) && isOurs(auths.get(alias), entry))
        auths.delete(alias);
  // A newer foreign entry for these images stays and makes the displaced entry obsolete.
  const isForeign = (alias: string): boolean => {
    const mine = stays.get(alias);
    return auths.has(alias) && !(mine && isOurs(auths.get(alias), mine));
  };
  const vacated = owned.entries.filter(({ key }) => !aliases(current, key).some(isForeign));
  for (const { displaced } of vacated)
    for (const { key, raw } of displaced) auths.set(key, valueOf(raw));
  for (const entry of owned.rest) {
    if (rest.has(entry.key) && !entry.wrote.includes(digest(rest.get(entry.key)))) continue;
    rest.delete(entry.key);
    for (const { key, raw } of entry.displaced) rest.set(key, valueOf(raw));
  }
  return { auths, rest };
}

function ownRecord(
  key: string,
  value: RawJson,
  mine: Own | undefined,
  displaced: Own["displaced"],
): Own {
  const now = digest(value);
  const before = (mine?.wrote ?? []).filter((valueDigest) => valueDigest !== now);
  const wrote = [...before, now].slice(-generations);
  return { key, wrote, displaced: withOlder(mine, displaced) };
}

/**
 * The record of a registry that must have no entry in config.json, because the credential provider
 * serves this registry. The values that we wrote there earlier are still ours.
 */
function vacantRecord(key: string, mine: Own | undefined, displaced: Own["displaced"]): Own {
  const wrote = mine?.wrote ?? [];
  return { key, wrote, displaced: withOlder(mine, displaced), vacant: true };
}

function withOlder(mine: Own | undefined, displaced: Own["displaced"]): Own["displaced"] {
  const newer = new Set(displaced.map((entry) => entry.key));
  return [...(mine?.displaced ?? []).filter((entry) => !newer.has(entry.key)), ...displaced];
}

function same(raw: string, value: RawJson): boolean {
  return digest(valueOf(raw)) === digest(value);
}
