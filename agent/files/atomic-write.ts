/**
 * Replaces one file, so that at every instant, also after a power cut, either the old bytes or the
 * new ones are there.
 *
 * The order is the promise: staged in our own folder (same mount, so rename works, and Node's
 * permission model allows it), read back (on a full disk write-file-atomic truncates and reports
 * success), synced, compared once more with what was looked at, renamed, directory synced (without
 * it a power cut may bring the old name back).
 */
// All calls but sync are blocking. A change makes seventy of them, and on a busy node each trip
// through the thread pool waits twice for a processor; sync may take seconds. `promises` is loaded
// on first use, because most starts have nothing to write.
import { constants, lstatSync, promises, readFileSync, renameSync, unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { OwnError, ignoring } from "./errno.ts";

const onlyRead = constants.O_RDONLY | constants.O_NOFOLLOW;

/** What tells one file from another, and from itself after a change. */
export type FileIdentity = string;

export class FileChanged extends OwnError {}

/** Every call succeeded, but the file system does not hold what it should. */
export class FileError extends OwnError {}

export type Replacement = Readonly<{
  target: string;
  /** Where the file is staged; on the same mount as the target. */
  folder: string;
  bytes: Buffer;
  mode: number;
  /** The target as it was when the decision was made; `undefined` skips the comparison. */
  expected?: FileIdentity | undefined;
}>;

/**
 * Resolves when the new bytes are durable. Throws FileChanged, or the file system's error with the
 * target untouched.
 */
export async function replace({
  target,
  folder,
  bytes,
  mode,
  expected,
}: Replacement): Promise<void> {
  const staged = join(folder, `${target.slice(dirname(target).length + 1)}.staged`);
  unlinkIfThere(staged);
  try {
    // Loaded on the first write, because most starts find nothing to do.
    const { default: writeFileAtomic } = await import("write-file-atomic");
    writeFileAtomic.sync(staged, bytes, { mode, fsync: false });
    verify(staged, bytes);
    await sync(staged);
    expect(target, expected);
    renameSync(staged, target);
  } catch (error) {
    tidy(staged);
    throw error;
  }
  await sync(dirname(target));
}

function verify(file: string, bytes: Buffer): void {
  const read = readFileSync(file, { flag: onlyRead });
  if (read.length !== bytes.length)
    throw new FileError(`short write: ${read.length} of ${bytes.length} bytes`);
  if (!read.equals(bytes)) throw new FileError("what was written is not what is read");
}

/** Removes the file durably, if it is there. Throws FileChanged like replace. */
export async function remove(target: string, expected?: FileIdentity): Promise<void> {
  expect(target, expected);
  unlinkIfThere(target);
  await sync(dirname(target));
}

/** `absent`, or inode, size, times, mode and links: any change by another writer changes it. */
export function identify(file: string): FileIdentity {
  const found = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  if (found === undefined) return "absent";
  return [
    found.dev,
    found.ino,
    found.size,
    found.mtimeNs,
    found.ctimeNs,
    found.mode,
    found.nlink,
  ].join(":");
}

function expect(file: string, expected: FileIdentity | undefined): void {
  if (expected !== undefined && identify(file) !== expected) throw new FileChanged(file);
}

/** Syncs a file or directory, by handle: Node's permission model refuses a descriptor. */
export async function sync(path: string): Promise<void> {
  await using handle = await promises.open(path, onlyRead);
  await handle.sync();
}

export function unlinkIfThere(file: string): void {
  ignoring("ENOENT", () => unlinkSync(file));
}

/** Removes what a failed write staged; its own failure must not hide the first one. */
function tidy(staged: string): void {
  try {
    unlinkIfThere(staged);
  } catch {
    // The next sweep takes it.
  }
}
