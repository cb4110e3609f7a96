/** Sources in order of priority → one list of entries, each with its source. */
import { formatPath, quote } from "../problems/keypath.ts";
import {
  agree,
  called,
  isOriginal,
  offersOf,
  type MergeSource,
  type Offer,
  type Offers,
} from "./offer.ts";
import { maxEntries, type Entry } from "../document/parse.ts";
import type { JsonObject } from "../json/json.ts";
import { catalogue, problem, type Problem } from "../problems/problems.ts";
import { findProtected, findUnprotected } from "./protect.ts";
import { findShadows } from "./shadow.ts";
import { imagesOf } from "../registry/key.ts";
import {
  asImages,
  dockerHubImages,
  dockerHubKey,
  hidesDockerHub,
  identity,
  isHubLogin,
} from "../registry/registry.ts";

export type MergedEntry = Entry &
  Readonly<{
    /** Id of the source that has this entry. */
    from: string;
    /** Ids of the sources with another credential for the registry, highest first. */
    shadows: readonly string[];
  }>;

export type Merged =
  | Readonly<{
      ok: true;
      entries: readonly MergedEntry[];
      rest: JsonObject;
      warnings: readonly Problem[];
    }>
  | Readonly<{ ok: false; problems: readonly Problem[] }>;

export type MergePolicy = Readonly<{
  /** Whose credential is used if the original and another source have one for the same registry. */
  conflicts: "original" | "additional";
  /**
   * Protected registries. A source other than the original is allowed to serve them only with
   * exactly the original's credential.
   */
  protect: readonly string[];
}>;

/**
 * Merges accepted sources, given with the highest first and the original last. The result is sorted
 * and has each registry once, with one exception: an original that has several credentials for a
 * registry, and wins, keeps all its spellings of the registry. The highest source wins for the same
 * images, even if the sources spell the registry differently. For example, it replaces Docker Hub
 * under both of its names. If the sources right below the winner have the same credential, the
 * entry is attributed to the lowest of them, so withdrawing a source above that one does not change
 * the entry. The warnings include the sources' own warnings.
 */
export function merge(
  sources: readonly MergeSource[],
  { conflicts, protect }: MergePolicy,
): Merged {
  const rest = sources.find(isOriginal)?.accepted.rest ?? {};
  const offers = offersOf(sources);
  const entries: MergedEntry[] = [];
  const warnings = sources.toReversed().flatMap(({ accepted }) => accepted.warnings);
  const conflicting: { images: string; won: Winner; warning: Problem }[] = [];
  for (const [images, offered] of offers) {
    const won = winner(offered, conflicts);
    const lost = offered.filter((offer) => !agree(offer, won.offer));
    const shadows = lost.map(({ id }) => id);
    for (const { entry, from } of writtenFor(offered, won, conflicts))
      entries.push({ ...entry, from, shadows });
    conflicting.push(
      ...lost.map((other) => ({ images, won, warning: conflict(offered, won.holder, other) })),
    );
  }
  const foreign = [...offers.values()].flatMap(foreignTo);
  const promoted = promotedHub(sources, offers, conflicts, entries);
  if (promoted !== undefined) {
    foreign.push(...promoted.foreign);
    entries.push(...promoted.entries);
  }
  const problems = findProtected(foreign, protect);
  const suppliers = new Map(entries.map(({ registry, from }) => [registry, from]));
  const written = foreign.filter(({ id, registry }) => suppliers.get(registry) === id);
  warnings.push(...findUnprotected(written, protect));
  entries.sort((a, b) => (a.registry < b.registry ? -1 : 1));
  // If the kubelet tries none of the conflicting credentials, there is no conflict to report.
  // GPS162 reports the hidden key, and GPS165 the wildcard that takes the images.
  const isUsed = ({ images, won }: (typeof conflicting)[number]) =>
    images !== dockerHubImages || servesHub(won.offer.all, entries);
  warnings.push(...conflicting.filter(isUsed).map(({ warning }) => warning));
  if (promoted !== undefined) warnings.push(promoted.warning);
  const isHubLost = !conflicting.every(isUsed);
  warnings.push(...findShadows(sources, entries, isHubLost));
  const applicable = warnings.filter((warning) => holds(warning, offers, entries));
  if (entries.length > maxEntries) problems.push(problem("tooMany", "merged", "auths"));
  return problems.length > 0
    ? { ok: false, problems }
    : { ok: true, entries, rest, warnings: applicable };
}

/** Whether the kubelet tries one of these credentials for Docker Hub's images. */
function servesHub(
  entries: readonly Pick<Entry, "credential">[],
  written: readonly MergedEntry[],
): boolean {
  const hiding = written.filter(({ registry }) => hidesDockerHub(registry));
  const used = hiding.length > 0 ? hiding : written.filter(({ registry }) => isHubLogin(registry));
  return entries.some((entry) =>
    used.some(({ credential }) => credential.equals(entry.credential)),
  );
}

/**
 * Whether a source's warning about its own docker login key is also true for the written document.
 * The warning is not true if the kubelet tries the credential under another key, or if the source
 * lost Docker Hub's images, which another warning reports.
 */
function holds(
  { code, source, path }: Problem,
  offers: ReadonlyMap<string, Offers>,
  written: readonly MergedEntry[],
): boolean {
  if (code !== catalogue.hidden[0]) return true;
  const own = offers.get(dockerHubImages)?.find(({ id }) => id === source);
  if (own === undefined) return true;
  const logins = own.all.filter(({ registry }) => isHubLogin(registry));
  const meant = logins.filter(({ registry }) => formatPath(["auths", registry]) === path);
  const judged = meant.length > 0 ? meant : logins;
  const isWritten = own.tried.every(({ credential }) =>
    written.some(
      (entry) =>
        imagesOf(entry.registry) === dockerHubImages && entry.credential.equals(credential),
    ),
  );
  return isWritten && !judged.every((entry) => servesHub([entry], written));
}

/**
 * The entries to write for the same images: all entries of the winner. They are also written under
 * `docker.io` if the winner has Docker Hub only under docker login's key, and a higher source has
 * the same credential under `docker.io`. The kubelet tries `docker.io` before wildcards, and after
 * a key with a path, such as `docker.io/org`. But the entries of a preferred original stay
 * unchanged.
 */
function writtenFor(
  offers: Offers,
  { offer: won, holder }: Winner,
  conflicts: MergePolicy["conflicts"],
): readonly Readonly<{ entry: Entry; from: string }>[] {
  const isPreferred = conflicts === "original" && isOriginal(won);
  const higher = isPreferred || isNamed(won) ? [] : offers.slice(0, offers.indexOf(holder) + 1);
  const named = higher.findLast(isNamed);
  return [won.all.map((entry) => ({ entry, from: holder.id }))]
    .concat(named === undefined ? [] : asNamed(won).map((entry) => ({ entry, from: named.id })))
    .flat();
}

/**
 * Whether the kubelet tries the offer before wildcards. It tries docker login's key after
 * wildcards.
 */
const isNamed = ({ tried }: Offer): boolean => !isHubLogin(tried[0].registry);

/**
 * Docker Hub's credentials, written under `docker.io`. If there are several, each keeps its own
 * spelling of the key.
 */
function asNamed({ tried }: Offer): readonly Entry[] {
  return tried.map(({ registry, credential }) => ({
    registry: tried.length > 1 ? asImages(registry) : dockerHubImages,
    credential,
  }));
}

type Promoted = Readonly<{
  entries: readonly MergedEntry[];
  /**
   * The source of these entries, with the registry `docker.io`, as foreignTo returns it. Empty if
   * the source has the original's credential.
   */
  foreign: readonly Readonly<{ id: string; registry: string }>[];
  warning: Problem;
}>;

/**
 * Docker Hub's entry under `docker.io`, if a wildcard would wrongly take all images from docker
 * login's key. Undefined if not. The kubelet tries docker login's key only if nothing else matches.
 * A wildcard of a lower source must not take Docker Hub's images. If the winner displaces an entry
 * for `docker.io`, a wildcard must not take the images, because the kubelet would have tried the
 * displaced entry before any wildcard.
 */
function promotedHub(
  sources: readonly MergeSource[],
  offers: ReadonlyMap<string, Offers>,
  conflicts: MergePolicy["conflicts"],
  written: readonly MergedEntry[],
): Promoted | undefined {
  const hub = offers.get(dockerHubImages);
  if (hub === undefined || written.some(({ registry }) => identity(registry) === dockerHubImages))
    return undefined;
  const highest = (group: Offers) =>
    (conflicts === "original" && group.find(isOriginal)) || group[0];
  const rank = ({ id }: Offer) =>
    conflicts === "original" && isOriginal({ id })
      ? -1
      : sources.findIndex((source) => source.id === id);
  const top = highest(hub);
  // An original with the same credential can have more credentials, which must be tried as well.
  const { offer: won } = winner(hub, conflicts);
  const hiding = [...offers]
    .filter(([images]) => images !== dockerHubImages && hidesDockerHub(images))
    .map(([, group]) => highest(group))
    .filter((offer) => !agree(won, offer));
  const [first] = hiding;
  // The rule about a displaced entry does not apply to a preferred original, because its entries
  // stay unchanged.
  const displaces = rank(top) >= 0 && hub.some(isNamed);
  const isMeant = !displaces && hiding.some((offer) => rank(offer) <= rank(top));
  if (first === undefined || isMeant) return undefined;
  const shadows = hub.filter((offer) => !agree(offer, won)).map(({ id }) => id);
  const entries = asNamed(won).map(({ registry, credential }) => ({
    registry,
    credential,
    from: top.id,
    shadows,
  }));
  const path = formatPath(["auths", dockerHubKey]);
  const hidden = quote(first.tried[0].registry);
  return {
    entries,
    foreign: foreignTo(hub).some(({ id }) => id === top.id)
      ? [{ id: top.id, registry: dockerHubImages }]
      : [],
    warning: problem("promoted", top.id, path, hidden, called(first.id)),
  };
}

/**
 * `offer`: the entries that are written. `holder`: the source to which the entries are attributed.
 */
type Winner = Readonly<{ offer: Offer; holder: Offer }>;

/**
 * The highest offer. If the original has the same credentials, the original's offer is written
 * instead, because it can have more credentials for the same images. If the next lower sources have
 * the same credentials as the highest source, the entry is attributed to the lowest of them, so
 * withdrawing a source above that one changes nothing.
 */
function winner(offers: Offers, conflicts: MergePolicy["conflicts"]): Winner {
  const original = offers.find(isOriginal);
  if (conflicts === "original" && original !== undefined)
    return { offer: original, holder: original };
  const isOriginals = original !== undefined && agree(offers[0], original);
  const top = isOriginals ? original : offers[0];
  const differs = offers.findIndex((offer) => !agree(offer, top));
  const holder = (differs < 0 ? offers.at(-1) : offers[differs - 1]) ?? offers[0];
  return { offer: isOriginals ? original : holder, holder };
}

/** The warning about two sources. It begins with the higher source, whichever of the two wins. */
function conflict(offers: Offers, won: Offer, lost: Offer): Problem {
  const [higher, lower] = offers.indexOf(won) < offers.indexOf(lost) ? [won, lost] : [lost, won];
  const path = formatPath(["auths", higher.tried[0].registry]);
  return problem("conflict", higher.id, path, called(lower.id), `${called(won.id)}'s is used`);
}

/** Entries of sources other than the original, unless the source has the original's credential. */
function foreignTo(offers: Offers): Readonly<{ id: string; registry: string }>[] {
  const original = offers.find(isOriginal);
  return offers
    .filter((offer) => original === undefined || !agree(offer, original))
    .map(({ id, tried: [{ registry }] }) => ({ id, registry }));
}
