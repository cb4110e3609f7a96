/** Reads a file that we may replace: a regular one, by no other name, that nobody is changing. */
import { lstatSync } from "node:fs";
import { type FileIdentity, identify } from "./atomic-write.ts";
import { readRegular } from "./regular-file.ts";

export type OwnFile =
  | Readonly<{ kind: "absent"; identity: FileIdentity }>
  | Readonly<{
      kind: "file";
      identity: FileIdentity;
      bytes: Buffer;
      mode: number;
      /** Whose it is, if it is not this process's. */
      owner?: string;
    }>
  | Readonly<{ kind: "refused"; why: string }>
  | Readonly<{ kind: "changing" }>;

/** Returns the file, or why a file like it cannot take its place. Throws what the system threw. */
export function readOwn(file: string, mostBytes: number): OwnFile {
  const identity = identify(file);
  if (identity === "absent") return { kind: "absent", identity };
  const found = lstatSync(file);
  if (found.isSymbolicLink()) return { kind: "refused", why: "it is a symbolic link" };
  if (!found.isFile()) return { kind: "refused", why: "it is not a regular file" };
  if (found.nlink > 1) return { kind: "refused", why: `it has ${found.nlink} hard links` };
  if (found.size > mostBytes)
    return {
      kind: "refused",
      why: `it has ${found.size} bytes, more than ${Math.floor(mostBytes / 1024 / 1024)} MiB`,
    };
  const reading = readRegular(file, mostBytes, "refuse");
  // Between lstat and open it may have become something else.
  if (!("bytes" in reading) || reading.bytes.length !== found.size) return { kind: "changing" };
  if (identify(file) !== identity) return { kind: "changing" };
  const { uid, gid } = found;
  const isOurs = uid === process.getuid?.() && gid === process.getgid?.();
  const owner = isOurs ? {} : { owner: `${uid}:${gid}` };
  return { kind: "file", identity, bytes: reading.bytes, mode: found.mode & 0o7777, ...owner };
}
