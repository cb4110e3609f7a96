/** config.json as found: what it is, what it says, and whether it may be replaced. Reads only. */
import { createHash } from "node:crypto";
import { emptyDocument, type NodeDocument, readDocument } from "./document.ts";
import { describe } from "#agent/files/errno.ts";
import { mountOver, readMounts } from "#agent/files/mounts.ts";
import { readOwn } from "#agent/files/own-file.ts";
import type { FileIdentity } from "#agent/files/atomic-write.ts";
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
  const found = readOwn(file, mostBytes);
  if (found.kind === "absent") return { ...found, document: emptyDocument };
  if (found.kind !== "file") return found;
  // A rename over a mount point fails with EBUSY: kind's extraMounts, for instance.
  if (mountOver(readMounts(), file)?.point === file)
    return { kind: "refused", why: "it is a mount of its own, which nothing can be renamed over" };
  const { identity, bytes, mode, owner } = found;
  const much = excess(bytes);
  if (much !== undefined) return { kind: "refused", why: `it has ${much}` };
  const content = readDocument(bytes);
  if (content.kind === "odd") return { kind: "refused", why: content.why };
  // Ours would belong to this process: without CAP_CHOWN, as it is deployed, it can give no file
  // away.
  if (owner !== undefined)
    return {
      kind: "refused",
      why: `it belongs to ${owner}, which we may not keep; give it to 0:0`,
    };
  return {
    kind: "file",
    identity,
    bytes,
    mode,
    document: content.document,
    healed: content.healed,
    digest: createHash("sha256").update(bytes).digest("base64url"),
  };
}
