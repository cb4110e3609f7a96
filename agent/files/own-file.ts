/** Reads files on the node, with a size limit and without blocking. */
import { lstatSync, closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { type FileIdentity, identify } from "./atomic-write.ts";

export type OwnFile =
  | Readonly<{ kind: "absent"; identity: FileIdentity }>
  | Readonly<{
      kind: "file";
      identity: FileIdentity;
      bytes: Buffer;
      mode: number;
      /** Set if the user or group of the file differs from that of this process. */
      owner?: string;
    }>
  | Readonly<{ kind: "refused"; why: string }>
  | Readonly<{ kind: "changing" }>;

/**
 * Reads a file that we are allowed to replace: a regular file without other hard links, which no
 * program is changing. Returns the file, or why it cannot be replaced. Throws the error of the
 * system.
 */
export function readOwn(file: string, mostBytes: number): OwnFile {
  const identity = identify(file);
  if (identity === "absent") return { kind: "absent", identity };
  const stats = lstatSync(file);
  if (stats.isSymbolicLink()) return { kind: "refused", why: "it is a symbolic link" };
  if (!stats.isFile()) return { kind: "refused", why: "it is not a regular file" };
  if (stats.nlink > 1) return { kind: "refused", why: `it has ${stats.nlink} hard links` };
  if (stats.size > mostBytes)
    return {
      kind: "refused",
      why: `it has ${stats.size} bytes, more than ${Math.floor(mostBytes / 1024 / 1024)} MiB`,
    };
  const reading = readRegular(file, mostBytes, "refuse");
  // Another file might have replaced this file between lstat and open.
  if (!("bytes" in reading) || reading.bytes.length !== stats.size) return { kind: "changing" };
  if (identify(file) !== identity) return { kind: "changing" };
  const { uid, gid } = stats;
  const isOurs = uid === process.getuid?.() && gid === process.getgid?.();
  const owner = isOurs ? {} : { owner: `${uid}:${gid}` };
  return { kind: "file", identity, bytes: reading.bytes, mode: stats.mode & 0o7777, ...owner };
}

/**
 * `irregular`: a directory, a FIFO or a device. `large`: its size in bytes, which is above the
 * limit.
 */
export type Regular =
  | Readonly<{ bytes: Buffer }>
  | Readonly<{ irregular: true }>
  | Readonly<{ large: number }>;

/**
 * Returns the bytes of a regular file of at most `most` bytes. Does not block on a FIFO, and does
 * not read a device. `links`: whether a symbolic link at the end of the path is followed, or
 * refused with ELOOP. Throws the error of the file system.
 */
export function readRegular(file: string, most: number, links: "follow" | "refuse"): Regular {
  const link = links === "refuse" ? constants.O_NOFOLLOW : 0;
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK | link);
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) return { irregular: true };
    if (stats.size > most) return { large: stats.size };
    const bytes = Buffer.alloc(stats.size);
    return { bytes: bytes.subarray(0, readSync(descriptor, bytes, 0, stats.size, 0)) };
  } finally {
    closeSync(descriptor);
  }
}
