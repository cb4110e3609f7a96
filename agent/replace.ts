/**
 * Replaces one file, so that at every instant, also after a power cut, either the old bytes or the new ones are there.
 *
 * The order is the promise: staged in our own folder (same mount, so rename works, and Node's permission model allows it),
 * read back (on a full disk write-file-atomic truncates and reports success), synced, compared once more with what was
 * looked at, renamed, directory synced (without it a power cut may bring the old name back).
 */
// Blocking calls but to sync, which may take seconds: a change makes seventy of them, and on a busy node each trip through the
// thread pool waits twice for a processor. `promises` is loaded when it is first used: most starts have nothing to write.
import {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  promises,
  readdirSync,
  readSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { hasCode, OwnError } from "./errno.ts";

/** Files in our folder that begin so are sockets, or were (lock.ts). */
export const lockPrefix = "lock-";

const onlyRead = constants.O_RDONLY | constants.O_NOFOLLOW;

/** What tells one file from another, and from itself after a change. */
export type FileIdentity = string;

export class FileChanged extends OwnError {}

/** Every call succeeded, and yet the file system does not hold what it should. */
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

/** Resolves when the new bytes are durable. Throws FileChanged, or the file system's error with the target untouched. */
export async function replace({ target, folder, bytes, mode, expected }: Replacement): Promise<void> {
  const staged = join(folder, `${target.slice(dirname(target).length + 1)}.staged`);
  unlinkIfThere(staged);
  try {
    // Loaded with the first write: most starts of an agent find nothing to do.
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

/** By 64 KiB at a time: a journal may have 10 MiB. */
function verify(file: string, bytes: Buffer): void {
  const descriptor = openSync(file, onlyRead);
  try {
    const chunk = Buffer.allocUnsafe(65_536);
    for (let read = 0; ;) {
      const count = readSync(descriptor, chunk, 0, chunk.length, read);
      if (!chunk.subarray(0, count).equals(bytes.subarray(read, read + count)))
        throw new FileError(`what was written is not what is read, near byte ${read}`);
      read += count;
      if (count > 0) continue;
      if (read === bytes.length) return;
      throw new FileError(`short write: ${read} of ${bytes.length} bytes`);
    }
  } finally {
    closeSync(descriptor);
  }
}

/** Removes the file durably; absent already is fine. Throws FileChanged like replace. */
export async function remove(target: string, expected?: FileIdentity): Promise<void> {
  expect(target, expected);
  unlinkIfThere(target);
  await sync(dirname(target));
}

/** Makes our folder, 0700, durably; one that holds the journal was, before there was a journal in it. */
export async function makeFolder(folder: string, journal: string): Promise<void> {
  unless("EEXIST", () => mkdirSync(folder, { mode: 0o700 }));
  if (!lstatSync(folder).isDirectory()) throw new FileError(`${folder} is not a directory`);
  if (!existsSync(join(folder, journal))) await sync(dirname(folder));
}

/**
 * Takes our folder away, with every file that we may have left in it, the journal last. Then `release`
 * gives the lock up: from there on another agent may be at work. A directory that somebody made in it,
 * and what is in that, is not ours: it stays, and the folder with it.
 */
export async function removeFolder(folder: string, journal: string, release: () => void): Promise<void> {
  sweep(folder, (name) => name !== journal && !name.startsWith(lockPrefix));
  discard(join(folder, journal));
  release();
  unless("ENOENT", () => unless("ENOTEMPTY", () => rmdirSync(folder)));
  await sync(dirname(folder));
}

/** Removes what a killed run left staged: it holds credentials. */
export function sweep(folder: string, stale = (name: string) => /\.(staged|new$)/.test(name)): void {
  const names = unless("ENOENT", () => readdirSync(folder)) ?? [];
  for (const name of names) if (stale(name)) discard(join(folder, name));
}

/** Whether our folder is there without a journal, with something that is to be taken away, if only itself. */
export function isLeft(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found === undefined || !found.isDirectory()) return false;
  const entries = readdirSync(folder, { withFileTypes: true }).filter(({ name }) => !name.startsWith(lockPrefix));
  return entries.length === 0 || entries.some((entry) => !entry.isDirectory());
}

/** Removes a file, or an empty directory. One that holds something, or is mounted on, is somebody's, and stays. */
export function discard(path: string): void {
  try {
    unlinkIfThere(path);
  } catch (error) {
    if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
    unless("ENOENT", () => unless("ENOTEMPTY", () => unless("EBUSY", () => rmdirSync(path))));
  }
}

/** `absent`, or inode, size, times, mode and links: any change by another writer changes it. */
export function identify(file: string): FileIdentity {
  const found = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  if (found === undefined) return "absent";
  return [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs, found.mode, found.nlink].join(":");
}

function expect(file: string, expected: FileIdentity | undefined): void {
  if (expected !== undefined && identify(file) !== expected) throw new FileChanged(file);
}

/** By handle: Node's permission model refuses `fsync` of a descriptor. */
async function sync(path: string): Promise<void> {
  await using handle = await promises.open(path, onlyRead);
  await handle.sync();
}

function unlinkIfThere(file: string): void {
  unless("ENOENT", () => unlinkSync(file));
}

/** After a failure, which is what is to be told. */
function tidy(staged: string): void {
  try {
    unlinkIfThere(staged);
  } catch {
    // The next sweep takes it.
  }
}

/** What `call` answers; undefined if it fails with this code. */
function unless<T>(code: string, call: () => T): T | undefined {
  try {
    return call();
  } catch (error) {
    if (hasCode(error, code)) return undefined;
    throw error;
  }
}
