/**
 * Entries → bytes. Entries with the same meaning give the same bytes, so a merge that changes no
 * meaning needs no restart.
 */
import type { Json, JsonObject } from "../json/json.ts";
import type { MergedEntry } from "./merge.ts";
import type { Entry } from "../document/parse.ts";

/**
 * The document that nodes get. It is compact JSON without a line break at the end, and its keys are
 * sorted by code unit at every level. It contains `auths` and the original's other top-level keys.
 * Each registry has one field, a padded `auth`. But a registry without user and password has its
 * identity token, or `{}`.
 */
export function canonical(
  merged: Readonly<{ entries: readonly Entry[]; rest: JsonObject }>,
): string {
  const entries = merged.entries.toSorted((a, b) => (a.registry < b.registry ? -1 : 1));
  const auths = entries.map(
    ({ registry, credential }) =>
      `${JSON.stringify(registry)}:${JSON.stringify(credential.entry())}`,
  );
  const members = Object.keys(merged.rest).map(
    (name) => [name, write(merged.rest[name] ?? null)] as const,
  );
  return writeMembers([...members, ["auths", `{${auths.join(",")}}`]]);
}

/**
 * Registry → id of the source of its credential. Has no prototype. Contains no credential, so it
 * can be published.
 */
export function sourcesOf(
  merged: Readonly<{ entries: readonly MergedEntry[] }>,
): Record<string, string> {
  const sources = Object.create(null) as Record<string, string>;
  for (const { registry, from } of merged.entries) sources[registry] = from;
  return sources;
}

/** Reads what `sourcesOf` wrote. Has no prototype. Empty if the text is malformed. */
export function readSources(text: string): Record<string, string> {
  const none = Object.create(null) as Record<string, string>;
  try {
    return Object.assign(none, JSON.parse(text) as object);
  } catch {
    return none;
  }
}

function write(value: Json): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (isList(value)) return `[${value.map(write).join(",")}]`;
  return writeMembers(
    Object.keys(value).map((name) => [name, write(value[name] ?? null)] as const),
  );
}

function writeMembers(members: readonly (readonly [name: string, text: string])[]): string {
  const sorted = members.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
