/** Reads and writes a folder of sealed files. */
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { Misuse } from "../terminal/io.ts";
import { fileOf, indexName, longestIndex, readIndex, type SealedIndex } from "./sealed-index.ts";

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
    const there = explained(path, () => statSync(path, { throwIfNoEntry: false }));
    if (there === undefined) return false;
    if (!there.isFile() || there.size > longestIndex) return true;
    return !explained(path, () => readFileSync(path, "utf8")).includes("\nkind: SealedSecret\n");
  });
}

/** Writes each file whole or not at all, and creates the directory if necessary. */
export function writeFiles(directory: string, files: Readonly<Record<string, string>>): void {
  explained(directory, () => mkdirSync(directory, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    const path = join(directory, name);
    explained(path, () => {
      // Someone could have committed a symbolic link under this name. We must not follow it.
      rmSync(`${path}.new`, { force: true });
      writeFileSync(`${path}.new`, text, { flag: "wx" });
      renameSync(`${path}.new`, path);
    });
  }
}

function explained<Value>(path: string, act: () => Value): Value {
  try {
    return act();
  } catch (error) {
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    throw new Misuse(`${path}: cannot be used (${code}); give another directory`);
  }
}
