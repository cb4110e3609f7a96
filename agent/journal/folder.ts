/**
 * Our folder beside config.json: the journal, the file with the other programs' bytes, files that
 * nobody could read, the lock's sockets, staged files.
 */
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, rmdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { nodeFiles } from "#contract/names.ts";
import { ignoring } from "../files/errno.ts";
import { theirsPrefix } from "./journal.ts";
import { FileError, sync, unlinkIfThere } from "../files/atomic-write.ts";

/** Files with this prefix are the lock's sockets, of running or dead agents (lock.ts). */
export const lockPrefix = "lock-";

export const journalName = basename(nodeFiles.journal);

/**
 * The most bytes of a file that we read here. A journal with two contents of 1 MiB each has 4.4 MB,
 * because values are JSON text in JSON.
 */
export const mostBytes = 8 * 1024 * 1024;

/** Creates our folder durably, with mode 0700. A folder with a journal is already durable. */
export async function makeFolder(folder: string): Promise<void> {
  makeDirectory(folder);
  if (!existsSync(join(folder, journalName))) await sync(dirname(folder));
}

/**
 * Creates a folder if it does not exist, and lets only root enter it. Node's recursive mode would
 * also create a missing kubelet directory, and would report a read-only file system as ENOENT.
 */
export function makeDirectory(folder: string): void {
  ignoring("EEXIST", () => mkdirSync(folder, { mode: 0o700 }));
  const stats = lstatSync(folder);
  if (!stats.isDirectory()) throw new FileError(`${folder} is not a directory`);
  // In a folder with the setgid bit, files would not get our group.
  if ((stats.mode & 0o7777) !== 0o700) chmodSync(folder, 0o700);
}

/**
 * Removes our folder and every file that we might have left in it. The files that the journal names
 * are removed last, after the journal. Then calls `releaseLock`, so that another agent can start to
 * work. If another program's directory in our folder contains files, that directory and our folder
 * stay.
 */
export async function removeFolder(folder: string, releaseLock: () => void): Promise<void> {
  const isLock = (name: string) => name.startsWith(lockPrefix);
  sweep(folder, (name) => !isLock(name) && name !== journalName && !name.startsWith(theirsPrefix));
  discard(join(folder, journalName));
  // After a power loss, a journal must not exist without the files that it names.
  if (existsSync(folder)) await sync(folder);
  sweep(folder, (name) => !isLock(name));
  releaseLock();
  ignoring("ENOENT", () => ignoring("ENOTEMPTY", () => rmdirSync(folder)));
  await sync(dirname(folder));
}

/** Removes the staged files of a killed agent, because they contain credentials. */
export function sweep(
  folder: string,
  stale = (name: string) => /\.(staged|new$)/.test(name),
): void {
  const names = ignoring("ENOENT", () => readdirSync(folder)) ?? [];
  for (const name of names) if (stale(name)) discard(join(folder, name));
}

/** Whether our folder exists and contains something to remove. */
export function hasLeftovers(folder: string): boolean {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isDirectory()) return false;
  const entries = readdirSync(folder, { withFileTypes: true }).filter(
    ({ name }) => !name.startsWith(lockPrefix),
  );
  return entries.length === 0 || entries.some((entry) => !entry.isDirectory());
}

/** Removes a file or an empty directory. Any other directory is not ours and stays. */
export function discard(path: string): void {
  try {
    unlinkIfThere(path);
  } catch (error) {
    if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
    ignoring("ENOENT", () => ignoring("ENOTEMPTY", () => ignoring("EBUSY", () => rmdirSync(path))));
  }
}
