/** config.json as found: what it is, what it says, and whether it may be replaced. Reads only. */
import { createHash } from "node:crypto";
import { closeSync, constants, lstatSync, openSync, readSync } from "node:fs";
import { emptyDocument, type NodeDocument, readDocument } from "./document.ts";
import { describe } from "./errno.ts";
import { type FileIdentity, identify } from "./replace.ts";
import { countValues } from "./values.ts";

export type NodeFile =
  | Readonly<{ kind: "absent"; identity: FileIdentity; document: NodeDocument }>
  | Readonly<{
      kind: "file";
      identity: FileIdentity;
      bytes: Buffer;
      mode: number;
      document: NodeDocument;
      /** Why the kubelet reads nothing from it as it is; absent if it does. */
      healed?: string | undefined;
      /** Tells these bytes from others. */
      digest: string;
    }>
  | Readonly<{ kind: "refused"; why: string }>
  | Readonly<{ kind: "changing" }>;

/** Twice what a Secret may hold: as much of others' as of ours. The largest known pull secrets have some 100 KiB. */
const mostBytes = 2 * 1024 * 1024;
/**
 * Bytes, with 100 for each value: 2 MiB of text that V8 keeps in two bytes a character, with 2,000 values, fill its heap of 32 MiB
 * in a rollback as 20,000 small ones do. With more the agent may be killed in the middle of a step (test/faults/memory.test.ts).
 */
const mostWeight = 2_300_000;
const valueWeight = 100;

/** What is too much for the agent's memory; it may be neither read nor written. */
export function excess(bytes: Uint8Array): string | undefined {
  if (bytes.length > mostBytes) return "more than 2 MiB";
  const values = countValues(bytes);
  return bytes.length + valueWeight * values > mostWeight
    ? `${values} values in ${bytes.length} bytes, more than the agent can hold`
    : undefined;
}

/** Never throws: whatever cannot be read, or not be replaced by a file like it, is refused with the reason. */
export function readNodeFile(file: string): NodeFile {
  try {
    return read(file);
  } catch (error) {
    return { kind: "refused", why: describe(error) };
  }
}

function read(file: string): NodeFile {
  const identity = identify(file);
  if (identity === "absent") return { kind: "absent", identity, document: emptyDocument };
  const found = lstatSync(file);
  if (found.isSymbolicLink()) return { kind: "refused", why: "it is a symbolic link" };
  if (!found.isFile()) return { kind: "refused", why: "it is not a regular file" };
  if (found.nlink > 1) return { kind: "refused", why: `it has ${found.nlink} hard links` };
  if (found.size > mostBytes) return { kind: "refused", why: `it has ${found.size} bytes, more than 2 MiB` };
  // Between lstat and open it may have become a FIFO, which would block, or a link.
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const bytes = Buffer.alloc(found.size);
  try {
    if (readSync(descriptor, bytes, 0, found.size, 0) !== found.size) return { kind: "changing" };
  } finally {
    closeSync(descriptor);
  }
  if (identify(file) !== identity) return { kind: "changing" };
  const much = excess(bytes);
  if (much !== undefined) return { kind: "refused", why: `it has ${much}` };
  const reading = readDocument(bytes);
  if (reading.kind === "odd") return { kind: "refused", why: reading.why };
  const { uid, gid } = found;
  // Ours would belong to this process: without CAP_CHOWN, as it is deployed, it can give no file away.
  if (uid !== process.getuid?.() || gid !== process.getgid?.())
    return { kind: "refused", why: `it belongs to ${uid}:${gid}, which we may not keep; give it to 0:0` };
  return {
    kind: "file",
    identity,
    bytes,
    mode: found.mode & 0o7777,
    document: reading.document,
    healed: reading.healed,
    digest: createHash("sha256").update(bytes).digest("base64url"),
  };
}
