/** config.json as found: what it is, what it says, and whether it may be replaced. Reads only. */
import { createHash } from "node:crypto";
import { lstatSync } from "node:fs";
import { emptyDocument, type NodeDocument, readDocument } from "./document.ts";
import { describe } from "../../files/errno.ts";
import { readRegular } from "../../files/regular-file.ts";
import { type FileIdentity, identify } from "../../files/atomic-write.ts";
import type { NodeFile } from "../delivery.ts";
import { excess, mostBytes } from "./weight.ts";

export type Present =
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
    }>;

type Unusable = Extract<NodeFile, { why: string } | { kind: "changing" }>;

/**
 * Never throws: whatever cannot be read, or not be replaced by a file like it, is refused with the
 * reason.
 */
export function readFile(file: string): Present | Unusable {
  try {
    return read(file);
  } catch (error) {
    return { kind: "refused", why: describe(error) };
  }
}

function read(file: string): Present | Unusable {
  const identity = identify(file);
  if (identity === "absent") return { kind: "absent", identity, document: emptyDocument };
  const found = lstatSync(file);
  if (found.isSymbolicLink()) return { kind: "refused", why: "it is a symbolic link" };
  if (!found.isFile()) return { kind: "refused", why: "it is not a regular file" };
  if (found.nlink > 1) return { kind: "refused", why: `it has ${found.nlink} hard links` };
  if (found.size > mostBytes)
    return { kind: "refused", why: `it has ${found.size} bytes, more than 2 MiB` };
  const reading = readRegular(file, mostBytes, "refuse");
  // Between lstat and open it may have become something else.
  if (!("bytes" in reading) || reading.bytes.length !== found.size) return { kind: "changing" };
  if (identify(file) !== identity) return { kind: "changing" };
  const { bytes } = reading;
  const much = excess(bytes);
  if (much !== undefined) return { kind: "refused", why: `it has ${much}` };
  const content = readDocument(bytes);
  if (content.kind === "odd") return { kind: "refused", why: content.why };
  const { uid, gid } = found;
  // Ours would belong to this process: without CAP_CHOWN, as it is deployed, it can give no file
  // away.
  if (uid !== process.getuid?.() || gid !== process.getgid?.())
    return {
      kind: "refused",
      why: `it belongs to ${uid}:${gid}, which we may not keep; give it to 0:0`,
    };
  return {
    kind: "file",
    identity,
    bytes,
    mode: found.mode & 0o7777,
    document: content.document,
    healed: content.healed,
    digest: createHash("sha256").update(bytes).digest("base64url"),
  };
}
