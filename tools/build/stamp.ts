/** Records the content of all files that a build read and wrote. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

const hashOf = (path: string): string =>
  createHash("sha256").update(readFileSync(path)).digest("base64");

/** A record of the current content of these files. */
export function stampOf(paths: Iterable<string>): string {
  return `${JSON.stringify(Object.fromEntries(Array.from(paths, (path) => [path, hashOf(path)])))}\n`;
}

/**
 * True if every file of the record exists with the same content. The files' times do not count,
 * because `cp -p`, tar and git can give a changed file an old time.
 */
export function isCurrent(stamp: string): boolean {
  try {
    const hashes = JSON.parse(readFileSync(stamp, "utf8")) as Record<string, string>;
    return Object.entries(hashes).every(([path, hash]) => hashOf(path) === hash);
  } catch {
    return false;
  }
}
