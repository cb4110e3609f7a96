/** original + additional → one list of entries, each with its source. */
import { Buffer } from "node:buffer";
import { documentLimits, type JsonObject } from "./json.ts";
import { meaningOf } from "./key.ts";
import { formatPath, quote } from "./keypath.ts";
import type { Accepted, Entry } from "./parse.ts";
import { problem, type Problem } from "./problems.ts";
import { identity, overlaps, spelling } from "./registry.ts";
import { findShadows } from "./shadow.ts";

export type From = "original" | "additional";
export type MergedEntry = Entry & Readonly<{ from: From }>;
export type Merged =
  | Readonly<{
      ok: true;
      entries: readonly MergedEntry[];
      rest: JsonObject;
      warnings: readonly Problem[];
    }>
  | Readonly<{ ok: false; problems: readonly Problem[] }>;

export type MergePolicy = Readonly<{
  /** Whose credential stays when both have one for the same registry. */
  conflicts: From;
  /** Registries that no additional entry may serve, unless with the original's own credential. */
  protect: readonly string[];
}>;

const nothing: Accepted = { ok: true, entries: [], rest: {}, warnings: [] };

/**
 * Merges two accepted sources; either may be missing. No entry is lost or invented: each registry
 * of either source is in the result once, sorted. Where both agree on the credential the entry is
 * the original's, so that withdrawing the additional changes nothing there. The warnings include
 * those of both sources.
 */
export function merge(
  { original = nothing, additional = nothing }: { original?: Accepted; additional?: Accepted },
  { conflicts, protect }: MergePolicy,
): Merged {
  const merged = new Map<string, MergedEntry>();
  for (const entry of original.entries) {
    merged.set(meaningOf(entry.registry), { ...entry, from: "original" });
  }
  const warnings = [...original.warnings, ...additional.warnings];
  const differing: string[] = [];
  const fresh: string[] = [];
  for (const entry of additional.entries) {
    const meaning = meaningOf(entry.registry);
    const present = merged.get(meaning);
    if (present?.credential.equals(entry.credential) === true) continue;
    differing.push(entry.registry);
    if (present === undefined) fresh.push(entry.registry);
    else warnings.push(conflict(entry.registry, conflicts));
    if (present === undefined || conflicts === "additional")
      merged.set(meaning, { ...entry, from: "additional" });
  }
  const problems = findProtected(differing, protect);
  warnings.push(...findShadows(original.entries, fresh));
  const entries = [...merged.values()].toSorted((a, b) => (a.registry < b.registry ? -1 : 1));
  if (secretSize(entries, original.rest) > documentLimits.bytes) {
    problems.push(problem("mergedTooBig", "merged", "document"));
  }
  return problems.length > 0
    ? { ok: false, problems }
    : { ok: true, entries, rest: original.rest, warnings };
}

function conflict(registry: string, winner: From): Problem {
  return problem(
    "conflict",
    "additional",
    formatPath(["auths", registry]),
    "the original",
    `the ${winner}'s is used`,
  );
}

/**
 * Additional entries that would serve images of a protected registry: the registry itself, a path
 * below or above it, or a wildcard over it, whether or not the original has an entry there.
 */
function findProtected(differing: readonly string[], protect: readonly string[]): Problem[] {
  const problems: Problem[] = [];
  for (const name of protect) {
    const guarded = identity(name);
    if (guarded === undefined) {
      problems.push(problem("badProtect", "protect", quote(name)));
      continue;
    }
    // `a.io/v1/foo` is the registry a.io/foo as a key, and also the beginning of an image's name:
    // both are meant.
    const asImage = identity(spelling(name)) ?? guarded;
    for (const registry of differing) {
      const meant = identity(registry) ?? "";
      if (!overlaps(meant, guarded) && !overlaps(meant, asImage)) continue;
      problems.push(
        problem("protected", "additional", formatPath(["auths", registry]), quote(name)),
      );
    }
  }
  return problems;
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
