/**
 * Delivery by config.json in the kubelet's directory. The kubelet reads config.json when it starts,
 * and caches the content for five minutes.
 */
import { join } from "node:path";
import { nodeFiles } from "#contract/names.ts";
import { remove, replace } from "#agent/files/atomic-write.ts";
import type { Delivery, NodeFile } from "../delivery.ts";
import { foundOf, type Present } from "./plan.ts";
import { createHash } from "node:crypto";
import { emptyDocument, readDocument, excess, mostBytes } from "./document.ts";
import { describe } from "#agent/files/errno.ts";
import { mountOver, readMounts, readOwn } from "#agent/files/own-file.ts";

export const configJson: Delivery = {
  names: [nodeFiles.config],
  read(directory) {
    const file = readFile(join(directory, nodeFiles.config));
    return file.kind === "absent" || file.kind === "file" ? foundOf(file) : file;
  },
  async write({ file }, { identity: expected }, directory) {
    const target = join(directory, nodeFiles.config);
    const folder = join(directory, nodeFiles.folder);
    if ("absent" in file) await remove(target, expected);
    else await replace({ target, folder, ...file, expected });
  },
};

type Unusable = Extract<NodeFile, { why: string } | { kind: "changing" }>;

/** Reads config.json. Refuses a file that we must not replace. See Delivery.read. */
export function readFile(file: string): Present | Unusable {
  try {
    return read(file);
  } catch (error) {
    return { kind: "refused", why: describe(error) };
  }
}

function read(file: string): Present | Unusable {
  const ownFile = readOwn(file, mostBytes);
  if (ownFile.kind === "absent") return { ...ownFile, document: emptyDocument };
  if (ownFile.kind !== "file") return ownFile;
  // A rename over a mount point fails with EBUSY, for example with kind's extraMounts.
  if (mountOver(readMounts(), file)?.point === file)
    return { kind: "refused", why: "it is a mount point, so no file can replace it" };
  const { identity, bytes, mode, owner } = ownFile;
  const much = excess(bytes);
  if (much !== undefined) return { kind: "refused", why: `it has ${much}` };
  const content = readDocument(bytes);
  if (content.kind === "odd") return { kind: "refused", why: content.why };
  // The new file would belong to the user of this process. The process has no CAP_CHOWN, so it
  // cannot change the owner.
  if (owner !== undefined)
    return {
      kind: "refused",
      why: `it belongs to ${owner}, which the agent cannot keep; change the owner to 0:0`,
    };
  return {
    kind: "file",
    identity,
    bytes,
    mode,
    document: content.document,
    invalid: content.invalid,
    digest: createHash("sha256").update(bytes).digest("base64url"),
  };
}
