/**
 * Reads and writes the index of a folder of sealed files. The index records the certificate of each
 * file, and the run that wrote the file.
 */
import { Buffer } from "node:buffer";
import { isObject, readJson, type Json } from "#pullsecret/json/json.ts";
import { Refused } from "../terminal/io.ts";
import type { Certificate } from "./certificate.ts";
import type { Scope, SealTarget } from "./encrypt.ts";

/**
 * The index is safe to commit. It contains names, fingerprints of public certificates, dates and
 * random numbers. It contains no digest of the content, because a digest would help to guess a weak
 * password. To show which files have the same content, it contains for each file the id of the run
 * that wrote the file.
 */
export type SealedIndex = SealTarget &
  Readonly<{
    /** The last run's random id. */
    sealing: string;
    clusters: Readonly<Record<string, Sealed>>;
  }>;

/** A file in the index, and the id of the run that wrote it. */
export type Sealed = Pick<Certificate, "fingerprint" | "until"> & Pick<SealedIndex, "sealing">;

export const indexName = "index.json";
export const longestIndex = 1024 * 1024;

/** The name of a cluster's file. */
export const fileOf = (cluster: string): string => `${cluster}.yaml`;

const version = 1;

/** The text of the index. Clusters are sorted by name, so a new cluster adds one line to a diff. */
export function writeIndex({ namespace, name, scope, sealing, clusters }: SealedIndex): string {
  const sorted = Object.entries(clusters).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const index = { version, namespace, name, scope, sealing, clusters: Object.fromEntries(sorted) };
  return `${JSON.stringify(index, undefined, 2)}\n`;
}

/** Reads an index back. Throws Refused for an index that this version did not write. */
export function readIndex(bytes: Uint8Array, path: string): SealedIndex {
  const read = readJson(Buffer.from(bytes), { bytes: longestIndex, depth: 4 });
  const index = read.ok ? asIndex(read.value) : undefined;
  if (index === undefined)
    throw new Refused(`${path}: is not an index of sealed files; give another directory`);
  return index;
}

const scopes: readonly unknown[] = ["strict", "namespace-wide", "cluster-wide"] satisfies Scope[];

function asIndex(value: Json): SealedIndex | undefined {
  if (!isObject(value) || value["version"] !== version) return undefined;
  const { namespace, name, scope, sealing, clusters } = value;
  if (typeof namespace !== "string" || typeof name !== "string") return undefined;
  if (typeof sealing !== "string") return undefined;
  if (!scopes.includes(scope) || !isObject(clusters)) return undefined;
  const known: Record<string, Sealed> = {};
  for (const [cluster, sealed] of Object.entries(clusters)) {
    if (!isObject(sealed)) return undefined;
    const { fingerprint, until, sealing: run } = sealed;
    if (typeof fingerprint !== "string" || typeof until !== "string") return undefined;
    if (typeof run !== "string") return undefined;
    known[cluster] = { fingerprint, until, sealing: run };
  }
  return { namespace, name, scope: scope as Scope, sealing, clusters: known };
}
