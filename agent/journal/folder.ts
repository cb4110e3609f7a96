/**
 * Our folder beside config.json: the journal, the previous bytes that it names, the lock's sockets,
 * staged files.
 */
import { existsSync, lstatSync, mkdirSync, readdirSync, rmdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { nodeFiles } from "#contract/names.ts";
import { ignoring } from "../files/errno.ts";
import { previousPrefix } from "./journal.ts";
import { FileError, sync, unlinkIfThere } from "../files/atomic-write.ts";

/** Files in our folder that begin so are sockets, or were (lock.ts). */
export const lockPrefix = "lock-";

export const journalName = basename(nodeFiles.journal);

/** Makes our folder, 0700, durably; with a journal in it, it is durable already. */
export async function makeFolder(folder: string): Promise<void> {
  makeDirectory(folder);
  if (!lstatSync(folder).isDirectory()) throw new FileError(`${folder} is not a directory`);
  if (!existsSync(join(folder, journalName))) await sync(dirname(folder));
}

/**
 * Makes a folder, if it is not there. Not recursively: a missing kubelet directory must not be made
 * up, and Node reports a read-only file system as ENOENT then.
 */
export function makeDirectory(folder: string): void {
  ignoring("EEXIST", () => mkdirSync(folder, { mode: 0o700 }));
}

/**
 * Removes our folder and every file that we may have left in it: the journal after all but the
 * files that it names. Then `releaseLock` is called, and another agent may be at work. A directory
 * that somebody made in it is not ours, and stays with the folder.
 */
export async function removeFolder(folder: string, releaseLock: () => void): Promise<void> {
  const isLock = (name: string) => name.startsWith(lockPrefix);
  sweep(
    folder,
    (name) => !isLock(name) && name !== journalName && !name.startsWith(previousPrefix),
  );
  discard(join(folder, journalName));
  // After a power loss, a journal must not come back to name files that are gone.
  if (existsSync(folder)) await sync(folder);
  sweep(folder, (name) => !isLock(name));
  releaseLock();
  ignoring("ENOENT", () => ignoring("ENOTEMPTY", () => rmdirSync(folder)));
  await sync(dirname(folder));
}

/** Removes what a killed run left staged: it holds credentials. */
export function sweep(
  folder: string,
  stale = (name: string) => /\.(staged|new$)/.test(name),
): void {
  const names = ignoring("ENOENT", () => readdirSync(folder)) ?? [];
  for (const name of names) if (stale(name)) discard(join(folder, name));
}

/** Whether our folder is there without a journal, and something of it is to be removed. */
export function hasLeftovers(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found === undefined || !found.isDirectory()) return false;
  const entries = readdirSync(folder, { withFileTypes: true }).filter(
    ({ name }) => !name.startsWith(lockPrefix),
  );
  return entries.length === 0 || entries.some((entry) => !entry.isDirectory());
}

/** Removes a file or an empty directory; any other directory is somebody's, and stays. */
export function discard(path: string): void {
  try {
    unlinkIfThere(path);
  } catch (error) {
    if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
    ignoring("ENOENT", () => ignoring("ENOTEMPTY", () => ignoring("EBUSY", () => rmdirSync(path))));
  }
}
