/**
 * Copies of a config.json that nobody could read. They are in our folder, so that a person can add
 * what is missing. A copy goes when a credential in it leaves.
 */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { replace, sync } from "../files/atomic-write.ts";
import { readRegular } from "../files/own-file.ts";
import { discard, mostBytes } from "./folder.ts";
import { digestOf, type Journal, unreadablePrefix } from "./journal.ts";
import { containsLeaving } from "./leaving.ts";

/** How many copies we keep. */
const mostCopies = 3;

/** Keeps the bytes that nobody could read, the last three. */
export async function keepCopy(folder: string, bytes: Buffer): Promise<void> {
  const name = unreadablePrefix + digestOf(bytes).slice(0, 16);
  await replace({ target: join(folder, name), folder, bytes, mode: 0o600 });
  const byAge = copiesIn(folder)
    .map((path) => ({ path, at: statSync(path).mtimeMs }))
    .toSorted((first, other) => other.at - first.at);
  for (const { path } of byAge.slice(mostCopies)) discard(path);
}

/**
 * Removes the copies that contain a credential which leaves with `next`. Without a former journal,
 * nobody knows what left, so all copies go.
 */
export async function dropCopies(
  folder: string,
  former: Journal | undefined,
  next: Journal,
): Promise<void> {
  const leaving = copiesIn(folder).filter((path) => {
    if (former === undefined) return true;
    const read = readRegular(path, mostBytes, "follow");
    return !("bytes" in read) || containsLeaving(read.bytes, former, next);
  });
  for (const path of leaving) discard(path);
  // Afterwards, nobody knows what has left.
  if (leaving.length > 0) await sync(folder);
}

/** The paths of the copies. */
export function copiesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.startsWith(unreadablePrefix))
    .map((name) => join(folder, name));
}
