/** Reads and writes a folder of sealed files. */
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { writeWholeFile } from "#runtime/whole-file.ts";
import { Misuse, Refused } from "../terminal/io.ts";
import { Buffer } from "node:buffer";
import { isObject, readJson, type Json } from "#pullsecret/json/json.ts";
import type { Certificate } from "./certificate.ts";
import type { SealTarget } from "./sealed-secret.ts";

/** The folder's index. Undefined if nothing has been sealed yet. */
export function indexOf(directory: string): SealedIndex | undefined {
  const path = join(directory, indexName);
  const size = explained(directory, () => statSync(path, { throwIfNoEntry: false })?.size);
  if (size === undefined) return undefined;
  // We do not read a file that is too large. An index of 1 MiB would name thousands of clusters.
  const bytes = size > longestIndex ? Buffer.alloc(0) : explained(path, () => readFileSync(path));
  return readIndex(bytes, path);
}

/** The clusters that have a file in the folder. */
export function clustersIn(directory: string): ReadonlySet<string> {
  const names = explained(directory, () => readdirSync(directory));
  const suffix = fileOf("");
  return new Set(
    names.filter((name) => name.endsWith(suffix)).map((name) => name.slice(0, -suffix.length)),
  );
}

/**
 * Finds the first of these files that exists but does not contain a SealedSecret. Such a file is
 * not ours.
 */
export function foreignIn(directory: string, names: readonly string[]): string | undefined {
  return names.find((name) => {
    const path = join(directory, name);
    const stats = explained(path, () => statSync(path, { throwIfNoEntry: false }));
    if (stats === undefined) return false;
    if (!stats.isFile() || stats.size > longestIndex) return true;
    return !explained(path, () => readFileSync(path, "utf8")).includes("\nkind: SealedSecret\n");
  });
}

/** Writes each file whole or not at all, and creates the directory if necessary. */
export async function writeFiles(
  directory: string,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  explained(directory, () => mkdirSync(directory, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    const path = join(directory, name);
    // Someone could have committed a symbolic link under this name. The writer refuses it.
    await writeWholeFile(path, text, 0o644).catch((error: unknown) => refuse(path, error));
  }
}

function explained<Value>(path: string, act: () => Value): Value {
  try {
    return act();
  } catch (error) {
    return refuse(path, error);
  }
}

function refuse(path: string, error: unknown): never {
  const { code = "unknown error" } = error as NodeJS.ErrnoException;
  throw new Misuse(`${path}: cannot be used (${code}); give another directory`);
}

/**
 * The index is safe to commit. It contains names, fingerprints of public certificates and dates. It
 * contains no digest of the content, because a digest would help to guess a weak password.
 */
export type SealedIndex = SealTarget & Readonly<{ clusters: Readonly<Record<string, Sealed>> }>;

/** A file in the index. */
export type Sealed = Pick<Certificate, "fingerprint" | "until">;

export const indexName = "index.json";
const longestIndex = 1024 * 1024;

/** The name of a cluster's file. */
export const fileOf = (cluster: string): string => `${cluster}.yaml`;

const version = 1;

/** The text of the index. Clusters are sorted by name, so a new cluster adds one line to a diff. */
export function writeIndex({ namespace, name, clusters }: SealedIndex): string {
  const sorted = Object.entries(clusters).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const index = { version, namespace, name, clusters: Object.fromEntries(sorted) };
  return `${JSON.stringify(index, undefined, 2)}\n`;
}

/** Reads an index back. Throws Refused for an index that this version did not write. */
function readIndex(bytes: Uint8Array, path: string): SealedIndex {
  const read = readJson(Buffer.from(bytes), { bytes: longestIndex, depth: 4 });
  const index = read.ok ? asIndex(read.value) : undefined;
  if (index === undefined)
    throw new Refused(`${path}: is not an index of sealed files; give another directory`);
  return index;
}

function asIndex(value: Json): SealedIndex | undefined {
  if (!isObject(value) || value["version"] !== version) return undefined;
  const { namespace, name, clusters } = value;
  if (typeof namespace !== "string" || typeof name !== "string") return undefined;
  if (!isObject(clusters)) return undefined;
  const sealedByCluster: Record<string, Sealed> = {};
  for (const [cluster, sealed] of Object.entries(clusters)) {
    if (!isObject(sealed)) return undefined;
    const { fingerprint, until } = sealed;
    if (typeof fingerprint !== "string" || typeof until !== "string") return undefined;
    sealedByCluster[cluster] = { fingerprint, until };
  }
  return { namespace, name, clusters: sealedByCluster };
}
