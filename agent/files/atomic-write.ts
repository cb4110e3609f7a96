/**
 * Replaces one file. At every instant, and after a power cut, the file contains either the old
 * bytes or the new ones.
 *
 * The promise depends on this order:
 *
 * 1. Stage the file in our own folder. It is on the same mount, so the rename works, and Node's
 *    permission model allows writes there.
 * 2. Read it back. On a full disk, write-file-atomic truncates it and reports success.
 * 3. Sync it.
 * 4. Check that the target is unchanged.
 * 5. Rename.
 * 6. Sync the directory. Without this, a power cut can bring the old file back.
 */
// All calls except `sync` block, because a change makes seventy calls, and on a busy node each trip
// through the thread pool waits twice for a processor. `sync` does not block, because it can take
// seconds.
import { constants, lstatSync, promises, readFileSync, renameSync, unlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, hasCode, OwnError, ignoring } from "./errno.ts";

const onlyRead = constants.O_RDONLY | constants.O_NOFOLLOW;

/** A text that distinguishes a file from other files, and from its own earlier states. */
export type FileIdentity = string;

export class FileChanged extends OwnError {}

/** Every call succeeded, but the file system does not contain what was written. */
export class FileError extends OwnError {}

export type Replacement = Readonly<{
  target: string;
  /** The directory for the staged file; on the same mount as the target. */
  folder: string;
  bytes: Buffer;
  mode: number;
  /** The target at the time of the decision; `undefined` skips the comparison. */
  expected?: FileIdentity | undefined;
}>;

/**
 * Resolves once the new bytes are durable. Throws FileChanged, or the error of the file system.
 * After an error, the target is unchanged, unless only the last sync failed.
 */
export async function replace({
  target,
  folder,
  bytes,
  mode,
  expected,
}: Replacement): Promise<void> {
  const staged = join(folder, stagedName(target));
  try {
    await stage(staged, bytes, mode);
    expect(target, expected);
    moveFile(staged, target);
  } catch (error) {
    tidy(staged);
    throw error;
  }
  await sync(dirname(target));
}

/**
 * Renames a file. If it or the other file is a mount point, as with kind's extraMounts, or on
 * another mount, nothing changes, and the FileError explains it.
 */
export function moveFile(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!hasCode(error, "EBUSY") && !hasCode(error, "EXDEV")) throw error;
    throw new FileError(`${describe(error)}: it is on a separate mount, so no file can replace it`);
  }
}

/** The name under which a file is staged. */
export function stagedName(target: string): string {
  return `${basename(target)}.staged`;
}

/** Steps 1 to 3: writes a file, reads it back, and syncs it. */
export async function stage(staged: string, bytes: Buffer, mode: number): Promise<void> {
  unlinkIfThere(staged);
  // Loaded on the first write, because most starts write nothing.
  const { default: writeFileAtomic } = await import("write-file-atomic");
  writeFileAtomic.sync(staged, bytes, { mode, fsync: false });
  verify(staged, bytes);
  await sync(staged);
}

function verify(file: string, bytes: Buffer): void {
  const read = readFileSync(file, { flag: onlyRead });
  if (read.length !== bytes.length)
    throw new FileError(`short write: ${read.length} of ${bytes.length} bytes`);
  if (!read.equals(bytes))
    throw new FileError("the file system returned other bytes than were written");
}

/**
 * `absent`, or inode, size, times, mode and links. Each change by another program changes one of
 * them.
 */
export function identify(file: string): FileIdentity {
  const stats = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return "absent";
  return [
    stats.dev,
    stats.ino,
    stats.size,
    stats.mtimeNs,
    stats.ctimeNs,
    stats.mode,
    stats.nlink,
  ].join(":");
}

/** Throws FileChanged if the file has changed since it was identified. */
export function expect(file: string, expected: FileIdentity | undefined): void {
  if (expected !== undefined && identify(file) !== expected) throw new FileChanged(file);
}

/**
 * Syncs a file or directory through a handle, because Node's permission model refuses a descriptor.
 */
export async function sync(path: string): Promise<void> {
  await using handle = await promises.open(path, onlyRead);
  await handle.sync();
}

export function unlinkIfThere(file: string): void {
  ignoring("ENOENT", () => unlinkSync(file));
}

/**
 * Removes the staged file after a failed write. A failure of the removal must not hide the first
 * error.
 */
export function tidy(staged: string): void {
  try {
    unlinkIfThere(staged);
  } catch {
    // The agent removes left-over staged files at its next start.
  }
}
