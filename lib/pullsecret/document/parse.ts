/** Reads a pull secret: bytes → entries, or every reason why the whole source is refused. */
import { Buffer } from "node:buffer";
import type { Credential } from "./auth.ts";
import { isMarker, readCredential } from "./entry.ts";
import { fold, isObject, readJson, type Json, type JsonObject } from "../json/json.ts";
import { isUnusual, meaningOf, readKey, spellingsOf } from "../registry/key.ts";
import { formatPath, quote, type Steps } from "../problems/keypath.ts";
import { problem, type Problem, type ProblemKind } from "../problems/problems.ts";
import { dockerHubKey, hidesDockerHub, isHubToken } from "../registry/registry.ts";
import { Findings, type NamedSource } from "../problems/findings.ts";

/**
 * One registry's credential. `registry` is the key as it is written out. `isPlain`: the source
 * writes the key with `http://`, which the kubelet ignores.
 */
export type Entry = Readonly<{ registry: string; credential: Credential; isPlain?: true }>;

export type Accepted = Readonly<{
  ok: true;
  entries: readonly Entry[];
  /** The original's other top-level keys; empty for an additional source. */
  rest: JsonObject;
  warnings: readonly Problem[];
}>;
type Rejected = Readonly<{
  ok: false;
  problems: readonly Problem[];
  /** Findings that would not refuse the source by themselves. */
  warnings: readonly Problem[];
  /** Whether the only problem of the source is that none of its entries is useful. */
  isIdle: boolean;
}>;
export type Parsed = Accepted | Rejected;

/** 1,000: the kubelet searches and sorts all entries at every image pull. */
export const maxEntries = 1000;

/**
 * Reads one source. The whole source is refused if any part would hurt a node, because the kubelet
 * drops a file for one bad entry. An additional source leaves out an entry that can never serve an
 * image, with a warning. If no other entry can serve images, the additional source is refused. An
 * original keeps such an entry with a warning, because nodes might already use it, and the kubelet
 * skips it by itself. Never throws, and no finding contains a value.
 */
export function parse(bytes: Uint8Array, source: NamedSource): Parsed {
  const read = readJson(bytes);
  if (!read.ok) {
    const faults = read.faults.map(({ kind, path }) => ({ kind: mistaken(kind, bytes), path }));
    return {
      ok: false,
      isIdle: false,
      problems: faults.map(({ kind, path }) => problem(kind, source.name, path)),
      warnings: [],
    };
  }
  const findings = new Findings(source);
  const document = isObject(read.value) ? read.value : undefined;
  const rest = document === undefined ? {} : readRest(document, findings);
  const auths = document?.["auths"];
  const entries: Entry[] = [];
  if (isObject(auths)) entries.push(...readEntries(auths, findings));
  else if (auths !== undefined && auths !== null) findings.refuse("notObject", ["auths"]);
  else if (document?.["kind"] === "Secret") findings.refuse("secretManifest", []);
  else if (document !== undefined && isManifest(document)) findings.dislike("otherManifest", []);
  else if (findings.problems.length === 0) {
    // The kubelet reads `null` and `{}` as no credentials, and drops any other document that is not
    // an object.
    if (document !== undefined && isDockercfg(document)) findings.dislike("dockercfg", []);
    else if (read.value === null || document !== undefined) findings.dislike("noAuths", ["auths"]);
    else findings.refuse("noAuths", ["auths"]);
  }
  const { problems, warnings, isIdle } = findings;
  if (problems.length > 0) return { ok: false, problems, warnings, isIdle };
  return { ok: true, entries, rest, warnings };
}

function readEntries(auths: JsonObject, findings: Findings): Entry[] {
  const keys = Object.keys(auths);
  if (keys.length > maxEntries) {
    findings.refuse("tooMany", ["auths"]);
    return [];
  }
  const seen = new Map<string, Seen[]>();
  let leftOut: Steps | undefined;
  for (const key of keys) {
    const path = ["auths", key];
    const value = auths[key] ?? null;
    if (isLeftOut(key, value, findings.source)) {
      findings.warn(isHubToken(key) ? "hubToken" : "marker", path);
      refuseBroken(value, path, findings);
      leftOut ??= path;
      continue;
    }
    const registry = readKey(key, path, findings);
    const credential = readCredential(value, path, findings);
    if (registry === undefined || credential === undefined) continue;
    const meaning = meaningOf(registry);
    seen.set(meaning, [...(seen.get(meaning) ?? []), { key, registry, credential }]);
  }
  const entries = [...seen.values()].flatMap((spellings) => readSpellings(spellings, findings));
  findings.settle(entries.some(({ registry }) => !isUnusual(registry)));
  if (leftOut !== undefined && entries.length === 0 && findings.problems.length === 0) {
    findings.refuse("nothingLeft", leftOut);
  }
  warnOfHiddenHub(seen, findings);
  return entries;
}

type Seen = Readonly<{ key: string; registry: string; credential: Credential }>;

/**
 * The entries of one registry, whose keys differ in their spelling. If several entries have the
 * same credential, only one of them is kept. The kubelet tries several credentials in random order,
 * so an additional source is allowed to have only one credential for the registry. An original
 * keeps all credentials, each under a separate key. Without this, the working credential might be
 * lost.
 */
function readSpellings(spellings: readonly Seen[], findings: Findings): Entry[] {
  const distinct: Seen[] = [];
  for (const spelling of spellings.toSorted(byPlainness)) {
    const at = ["auths", spelling.key];
    const twin = distinct.find(({ credential }) => credential.equals(spelling.credential));
    if (twin !== undefined) findings.warn("twice", at, quote(twin.key));
    else if (distinct[0] !== undefined)
      findings.dislike("sameRegistry", at, quote(distinct[0].key));
    if (twin === undefined) distinct.push(spelling);
  }
  // An additional source with several credentials is refused already.
  if (distinct.length <= 1 || findings.source.role === "additional")
    return distinct.map((spelling) => entryOf(spelling, spelling.registry));
  const own = new Set(distinct.map(({ key }) => key));
  const used = new Map<string, Seen>();
  for (const spelling of distinct) {
    const isFree = (key: string) => !used.has(key) && (key === spelling.key || !own.has(key));
    const written = spellingsOf(spelling.key).find(isFree);
    if (written !== undefined) used.set(written, spelling);
    // No spelling is free. A registry has nine spellings, and no document seen so far needed more.
    else findings.leaveOut("sameRegistry", ["auths", spelling.key], quote(distinct[0]?.key ?? ""));
  }
  return [...used].map(([registry, spelling]) => entryOf(spelling, registry));
}

const entryOf = ({ key, credential }: Seen, registry: string): Entry =>
  key.startsWith("http://") ? { registry, credential, isPlain: true } : { registry, credential };

/** Sorts the spelling that we write before the others, whatever the order in the document. */
function byPlainness(spelling: Seen, other: Seen): number {
  const merit = ({ key, registry }: Seen) => Number(key === registry);
  return merit(other) - merit(spelling) || (spelling.key < other.key ? -1 : 1);
}

/**
 * Whether the entry is one that a tool left beside real entries, and that nodes cannot use. A
 * marker in an original stays, because nodes might depend on it: CRI-O stops searching once it has
 * found a marker.
 */
function isLeftOut(key: string, value: Json, { role }: NamedSource): boolean {
  return isHubToken(key) || (role === "additional" && isMarker(value));
}

/**
 * For an entry that we leave out: refuses the source if the kubelet would drop a file with this
 * entry.
 */
function refuseBroken(value: Json, path: Steps, findings: Findings): void {
  const lenient = new Findings({ ...findings.source, role: "original" });
  readCredential(value, path, lenient);
  findings.problems.push(...lenient.problems);
}

/**
 * Warns if another entry hides Docker Hub's own entry, which the kubelet tries only if no other
 * entry matches.
 */
function warnOfHiddenHub(seen: ReadonlyMap<string, readonly Seen[]>, findings: Findings): void {
  for (const hub of seen.get(meaningOf(dockerHubKey)) ?? []) {
    const hiding = [...seen.values()]
      .flat()
      .find(({ key, credential }) => !credential.equals(hub.credential) && hidesDockerHub(key));
    if (hiding !== undefined) findings.warn("hidden", ["auths", hub.key], quote(hiding.key));
  }
}

/**
 * All top-level keys except `auths`, which only an original keeps. One warning lists all the keys
 * that nodes do not miss. A document without `auths` is refused, and needs no such warning.
 */
function readRest(document: JsonObject, findings: Findings): JsonObject {
  const rest = Object.create(null) as Record<string, Json>;
  const unused: string[] = [];
  for (const [name, value] of Object.entries(document)) {
    if (name === "auths") continue;
    const path = [name];
    const foldedName = fold(name);
    if (foldedName === "auths") findings.refuse("letterCase", path, "auths");
    else if (!suits(foldedName, value)) findings.refuse("notStringMap", path);
    else if (findings.source.role === "original") rest[name] = value;
    else if (namesHelpers(foldedName, value)) findings.warn("helper", path);
    else unused.push(formatPath(path));
  }
  if (unused.length > 0 && "auths" in document) findings.warn("stripped", [], listOf(unused));
  return rest;
}

/** Whether a node would miss the key: CRI-O runs `credHelpers`, and Docker also `credsStore`. */
const namesHelpers = (foldedName: string, value: Json): boolean =>
  (foldedName === "credhelpers" && isObject(value) && Object.keys(value).length > 0) ||
  (foldedName === "credsstore" && typeof value === "string" && value !== "");

/** At most five names, because a document can have 100,000. */
const listOf = (names: readonly string[]): string =>
  names.slice(0, 5).join(", ") + (names.length > 5 ? ` and ${names.length - 5} more` : "");

/** Recognises common texts that are not JSON at all. */
function mistaken(kind: ProblemKind, bytes: Uint8Array): ProblemKind {
  if (kind !== "notJson") return kind;
  const text = Buffer.from(bytes).toString("utf8");
  const kinds = text.split(/^---/m).flatMap((part) => kindOf(part) ?? []);
  if (kinds.includes("Secret")) return "secretManifest";
  if (kinds.length > 0 && /^apiVersion:/m.test(text)) return "otherManifest";
  const isBase64 = /^[A-Za-z0-9+/\s]+(?:={1,2}\s*)?$/.test(text);
  const decoded = isBase64 ? Buffer.from(text, "base64").toString("utf8") : "";
  return /^\s*\{/.test(decoded) ? "base64" : kind;
}

/** The kind of a manifest in YAML; undefined if it has none. */
const kindOf = (text: string): string | undefined =>
  /^kind:[ \t]*(["']?)([\w./-]+)\1[ \t]*(?:#.*)?\r?$/m.exec(text)?.[2];

/** Whether a document is an object of some API, such as a SealedSecret or an ExternalSecret. */
const isManifest = (document: JsonObject): boolean =>
  ["apiVersion", "kind"].every((name) => typeof document[name] === "string");

/** Whether a document has registries where a pull secret has `auths`. */
const isDockercfg = (document: JsonObject): boolean =>
  Object.values(document).some(
    (entry) => isObject(entry) && ["auth", "username"].some((name) => name in entry),
  );

/**
 * Top-level keys whose type matters: for a wrong type the kubelet (HttpHeaders) or CRI-O
 * (credHelpers) drops the file.
 */
const stringMaps: ReadonlySet<string> = new Set(["httpheaders", "credhelpers"]);

function suits(foldedName: string, value: Json): boolean {
  if (!stringMaps.has(foldedName) || value === null) return true;
  return (
    isObject(value) &&
    Object.values(value).every((item) => item === null || typeof item === "string")
  );
}
