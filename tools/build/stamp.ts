/** A record of the files that a build read and wrote, by content. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

const hashOf = (path: string): string =>
  createHash("sha256").update(readFileSync(path)).digest("base64");

/** The record of these files as they are now. */
export function stampOf(paths: Iterable<string>): string {
  return `${JSON.stringify(Object.fromEntries(Array.from(paths, (path) => [path, hashOf(path)])))}\n`;
}

/**
 * True if every file of the record exists with the same content. Times do not count: `cp -p`, tar
 * and git may set times older than the build's.
 */
export function isCurrent(stamp: string): boolean {
  try {
    const hashes = JSON.parse(readFileSync(stamp, "utf8")) as Record<string, string>;
    return Object.entries(hashes).every(([path, hash]) => hashOf(path) === hash);
  } catch {
    return false;
  }
}
