/** Sources in order of priority → one list of entries, each with its source. */
import { Buffer } from "node:buffer";
import { documentLimits, type JsonObject } from "../json/json.ts";
import { formatPath, quote } from "../problems/keypath.ts";
import {
  agree,
  called,
  isOriginal,
  isSame,
  offersOf,
  type MergeSource,
  type Offer,
  type Offers,
} from "./offer.ts";
import { maxEntries, type Entry } from "../document/parse.ts";
import { catalogue, problem, type Problem } from "../problems/problems.ts";
import { findProtected } from "./protect.ts";
import { findShadows } from "./shadow.ts";
import { dockerHubImages, dockerHubKey, hidesDockerHub } from "../registry/registry.ts";

export type MergedEntry = Entry &
  Readonly<{
    /** Id of the source whose entry it is. */
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
  /** Whose credential stays when the original and another source have one for the same registry. */
  conflicts: "original" | "additional";
  /** Registries that only the original may serve, or who has the original's own credential. */
  protect: readonly string[];
}>;

/**
 * Merges accepted sources, given with the highest first and the original last. Each registry of any
 * source is in the result once, sorted. The highest source wins, for the images and not only for
 * the spelling: of Docker Hub's two names only those of the winner are in the result. Where lower
 * ones agree with it, the entry counts as the lowest's, so that withdrawing a higher one changes
 * nothing there. The warnings include those of all sources.
 */
export function merge(
  sources: readonly MergeSource[],
  { conflicts, protect }: MergePolicy,
): Merged {
  const rest = sources.find(isOriginal)?.accepted.rest ?? {};
  const offers = offersOf(sources);
  const taken = new Map<string, string>();
  const entries: MergedEntry[] = [];
  const warnings = sources.toReversed().flatMap(({ accepted }) => accepted.warnings);
  for (const [images, offered] of offers) {
    const won = winner(offered, conflicts);
    const shadows = offered.filter((offer) => !agree(offer, won)).map(({ id }) => id);
    taken.set(images, won.id);
    entries.push(...won.all.map((entry) => ({ ...entry, from: won.id, shadows })));
    for (const other of offered)
      if (shadows.includes(other.id)) warnings.push(conflict(offered, won, other));
  }
  const foreign = [...offers.values()].flatMap(foreignTo);
  const promoted = promotedHub(sources, offers, conflicts);
  if (promoted !== undefined && !isOriginal({ id: promoted.entry.from }))
    foreign.push({ id: promoted.entry.from, registry: promoted.entry.registry });
  const problems = findProtected(foreign, protect);
  if (promoted !== undefined) {
    entries.push(promoted.entry);
    warnings.push(promoted.warning);
  }
  entries.sort((a, b) => (a.registry < b.registry ? -1 : 1));
  const shadowed = findShadows(sources, taken);
  // What is promoted is hidden no longer.
  const isCured = ({ code }: Problem) => promoted !== undefined && code === catalogue.hidden[0];
  warnings.push(...shadowed.filter((one) => !isCured(one)));
  if (entries.length > maxEntries) problems.push(problem("tooMany", "merged", "auths"));
  if (secretSize(entries, rest) > documentLimits.bytes)
    problems.push(problem("mergedTooBig", "merged", "document"));
  return problems.length > 0 ? { ok: false, problems } : { ok: true, entries, rest, warnings };
}

/**
 * Docker Hub's entry under `docker.io`, where a wildcard of a lower source would leave docker
 * login's key no image: the kubelet tries that key only if nothing else matches. Undefined where
 * there is no need.
 */
function promotedHub(
  sources: readonly MergeSource[],
  offers: ReadonlyMap<string, Offers>,
  conflicts: MergePolicy["conflicts"],
): Readonly<{ entry: MergedEntry; warning: Problem }> | undefined {
  const hub = offers.get(dockerHubImages);
  if (hub === undefined) return undefined;
  const highest = (one: Offers) => (conflicts === "original" && one.find(isOriginal)) || one[0];
  const rank = ({ id }: Offer) =>
    conflicts === "original" && isOriginal({ id }) ? -1 : sources.findIndex((one) => one.id === id);
  const top = highest(hub);
  if (winner(hub, conflicts).all.some(({ registry }) => registry !== dockerHubKey))
    return undefined;
  const hiding = [...offers]
    .filter(([images]) => images !== dockerHubImages && hidesDockerHub(images))
    .map(([, one]) => highest(one))
    .filter((one) => !agree(one, top));
  const [first] = hiding;
  if (first === undefined || hiding.some((one) => rank(one) <= rank(top))) return undefined;
  const { credential } = top.entry;
  const shadows = hub.filter((offer) => !agree(offer, top)).map(({ id }) => id);
  const path = formatPath(["auths", dockerHubKey]);
  return {
    entry: { registry: dockerHubImages, credential, from: top.id, shadows },
    warning: problem("promoted", top.id, path, quote(first.entry.registry), called(first.id)),
  };
}

/** The highest, or the lowest that agrees with it without another credential in between. */
function winner(offers: Offers, conflicts: MergePolicy["conflicts"]): Offer {
  const original = conflicts === "original" ? offers.find(isOriginal) : undefined;
  if (original !== undefined) return original;
  const differs = offers.findIndex((offer) => !isSame(offer, offers[0]));
  return (differs < 0 ? offers.at(-1) : offers[differs - 1]) ?? offers[0];
}

/** Told of the higher one, whichever of the two wins. */
function conflict(offers: Offers, won: Offer, lost: Offer): Problem {
  const [higher, lower] = offers.indexOf(won) < offers.indexOf(lost) ? [won, lost] : [lost, won];
  const path = formatPath(["auths", higher.entry.registry]);
  return problem("conflict", higher.id, path, called(lower.id), `${called(won.id)}'s is used`);
}

/** Offers of other sources than the original, and not with its own credential. */
function foreignTo(offers: Offers): Readonly<{ id: string; registry: string }>[] {
  const original = offers.find(isOriginal);
  return offers
    .filter((offer) => original === undefined || !isSame(offer, original))
    .map(({ id, entry: { registry } }) => ({ id, registry }));
}

/**
 * Bytes that the API server counts: the canonical document, the sources and the revision, which
 * share one Secret.
 */
function secretSize(entries: readonly MergedEntry[], rest: JsonObject): number {
  let size = Buffer.byteLength(JSON.stringify({ auths: {}, ...rest })) + 2 + 20;
  for (const { registry, credential, from } of entries) {
    const key = Buffer.byteLength(JSON.stringify(registry));
    size += key + ":,".length + Buffer.byteLength(JSON.stringify(credential.entry()));
    size += key + ':"",'.length + from.length;
  }
  return size;
}
