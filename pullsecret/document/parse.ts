/** Reads a pull secret: bytes → entries, or every reason why the whole source is refused. */
import type { Credential } from "./auth.ts";
import { isMarker, readCredential } from "./entry.ts";
import { fold } from "../json/fold.ts";
import { isObject, readJson, type Json, type JsonObject } from "../json/json.ts";
import { meaningOf, readKey } from "../registry/key.ts";
import { quote, type Steps } from "../problems/keypath.ts";
import { problem, type Problem } from "../problems/problems.ts";
import { dockerHubKey, hidesDockerHub, isHubToken } from "../registry/registry.ts";
import { Findings, type NamedSource } from "../problems/findings.ts";

/** One registry's credential. `registry` is the key as it is written out. */
export type Entry = Readonly<{ registry: string; credential: Credential }>;

export type Accepted = Readonly<{
  ok: true;
  entries: readonly Entry[];
  /** The original's other top-level keys; empty for an additional. */
  rest: JsonObject;
  warnings: readonly Problem[];
}>;
type Rejected = Readonly<{ ok: false; problems: readonly Problem[] }>;
export type Parsed = Accepted | Rejected;

/** 1,000: the kubelet searches and sorts all entries at every image pull. */
export const maxEntries = 1000;

/**
 * Reads one source. It is refused as a whole if any part would hurt a node: the kubelet drops a
 * file for one bad entry. An additional is also refused for entries that can never serve an image.
 * In an original these are kept with a warning: nodes may already live with them, and the kubelet
 * skips them one by one. What docker login and credential helpers leave beside real entries is left
 * out with a warning, unless nothing else is there. Never throws, and names no value.
 */
export function parse(bytes: Uint8Array, source: NamedSource): Parsed {
  const read = readJson(bytes);
  if (!read.ok) {
    return {
      ok: false,
      problems: read.faults.map(({ kind, path }) => problem(kind, source.name, path)),
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
  else if (findings.problems.length === 0) {
    // The kubelet reads `null` and `{}` as no credentials, but any other document that is no object
    // not at all.
    if (read.value === null || document !== undefined) findings.dislike("noAuths", ["auths"]);
    else findings.refuse("noAuths", ["auths"]);
  }
  const { problems, warnings } = findings;
  return problems.length > 0 ? { ok: false, problems } : { ok: true, entries, rest, warnings };
}

function readEntries(auths: JsonObject, findings: Findings): Entry[] {
  const keys = Object.keys(auths);
  if (keys.length > maxEntries) {
    findings.refuse("tooMany", ["auths"]);
    return [];
  }
  const seen = new Map<string, { key: string; credential: Credential }>();
  const entries: Entry[] = [];
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
    if (credential === undefined) continue;
    const meaning = meaningOf(registry);
    const earlier = seen.get(meaning);
    if (earlier === undefined) {
      seen.set(meaning, { key, credential });
      entries.push({ registry, credential });
    } else if (earlier.credential.equals(credential))
      findings.warn("twice", path, quote(earlier.key));
    // Both would be tried, in an order that the kubelet draws at random.
    else findings.refuse("sameRegistry", path, quote(earlier.key));
  }
  if (leftOut !== undefined && entries.length === 0 && findings.problems.length === 0) {
    findings.refuse("nothingLeft", leftOut);
  }
  warnOfHiddenHub(seen, findings);
  return entries;
}

/**
 * Whether an entry is what tools leave beside real ones, and useless to nodes. A marker in an
 * original stays, because nodes may live with it: CRI-O looks no further once it has found one.
 */
function isLeftOut(key: string, value: Json, { role }: NamedSource): boolean {
  return isHubToken(key) || (role === "additional" && isMarker(value));
}

/** Refuses an entry that is left out, if it would make the kubelet drop the source. */
function refuseBroken(value: Json, path: Steps, findings: Findings): void {
  const lenient = new Findings({ ...findings.source, role: "original" });
  readCredential(value, path, lenient);
  findings.problems.push(...lenient.problems);
}

/** The kubelet falls back to Docker Hub's own entry only when nothing else matches. */
function warnOfHiddenHub(
  seen: ReadonlyMap<string, { key: string; credential: Credential }>,
  findings: Findings,
): void {
  const hub = seen.get(meaningOf(dockerHubKey));
  if (hub === undefined) return;
  for (const { key, credential } of seen.values()) {
    if (credential.equals(hub.credential) || !hidesDockerHub(key)) continue;
    findings.warn("hidden", ["auths", hub.key], quote(key));
    return;
  }
}

/** Every top-level key but `auths`. */
function readRest(document: JsonObject, findings: Findings): JsonObject {
  const rest = Object.create(null) as Record<string, Json>;
  for (const [name, value] of Object.entries(document)) {
    if (name === "auths") continue;
    const path = [name];
    const known = fold(name);
    if (known === "auths") findings.refuse("letterCase", path, "auths");
    else if (!suits(known, value)) findings.refuse("notStringMap", path);
    else if (findings.source.role === "original") rest[name] = value;
    else if (document["kind"] !== "Secret") findings.warn("stripped", path);
  }
  return rest;
}

/**
 * Top-level keys whose type matters: the kubelet (HttpHeaders) or CRI-O (credHelpers) drops the
 * file for another.
 */
const stringMaps: ReadonlySet<string> = new Set(["httpheaders", "credhelpers"]);

function suits(known: string, value: Json): boolean {
  if (!stringMaps.has(known) || value === null) return true;
  return (
    isObject(value) &&
    Object.values(value).every((item) => item === null || typeof item === "string")
  );
}
