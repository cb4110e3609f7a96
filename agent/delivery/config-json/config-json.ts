/**
 * config.json in the kubelet's directory as found. The kubelet reads it when it starts, and caches
 * the content for five minutes.
 */
import type { FileIdentity } from "#agent/files/atomic-write.ts";
import { describe } from "#agent/files/errno.ts";
import { readOwn } from "#agent/files/own-file.ts";
import type { File } from "#agent/journal/journal.ts";
import { excess, mostBytes, readDocument } from "./document.ts";

/**
 * `unreadable`: why no program can read the file. `refused`: why we must not replace it.
 * `changing`: another program is writing it.
 */
export type NodeFile =
  | Readonly<{
      kind: "file";
      file: File;
      /** A text that changes whenever another program changes the file. */
      identity: FileIdentity;
      unreadable: string | undefined;
    }>
  | Readonly<{ kind: "refused"; why: string }>
  | Readonly<{ kind: "changing" }>;

/** Reads config.json. Never throws. */
export function readConfigFile(path: string): NodeFile {
  try {
    return read(path);
  } catch (error) {
    return { kind: "refused", why: describe(error) };
  }
}

function read(path: string): NodeFile {
  const ownFile = readOwn(path, mostBytes);
  if (ownFile.kind === "absent")
    return {
      kind: "file",
      file: { absent: true },
      identity: ownFile.identity,
      unreadable: undefined,
    };
  if (ownFile.kind !== "file") return ownFile;
  const { identity, bytes, mode, owner } = ownFile;
  const much = excess(bytes);
  if (much !== undefined) return { kind: "refused", why: `it has ${much}` };
  const reading = readDocument(bytes);
  if (reading.kind === "odd") return { kind: "refused", why: reading.why };
  // The new file would belong to the user of this process. The process has no CAP_CHOWN, so it
  // cannot change the owner.
  if (owner !== undefined)
    return {
      kind: "refused",
      why: `it belongs to ${owner}, which the agent cannot keep; change the owner to 0:0`,
    };
  const unreadable = reading.kind === "unreadable" ? reading.why : undefined;
  return { kind: "file", file: { bytes, mode }, identity, unreadable };
}
