/** Writes a file whole or not at all, and only a regular file. */
import { lstat, open, rename, rm } from "node:fs/promises";

/**
 * Writes a new file beside `path` and renames it, so that the file is never half written, and an
 * older file's mode does not let other users read the text. Refuses a name that exists and is not a
 * regular file: a rename would replace a FIFO, a device or a symbolic link. Rejects with
 * NotRegularFile, or with the error of the file system.
 */
export async function writeWholeFile(path: string, text: string, mode = 0o600): Promise<void> {
  const present = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (present !== undefined && !present.isFile()) throw new NotRegularFile(path);
  const beside = `${path}.${process.pid}.tmp`;
  // `wx` fails if the file exists, so we never overwrite or remove a file of others.
  const file = await open(beside, "wx", mode);
  try {
    await file.writeFile(text).finally(() => file.close());
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
}

/** The name belongs to a directory, a FIFO, a device, a socket or a symbolic link. */
class NotRegularFile extends Error {
  override readonly name = "NotRegularFile";
  readonly code = "not a regular file";
}
