/**
 * The volume with global-pull-secret and the pod's grant, as the kubelet mounted it. All files are
 * read through one target of `..data`, the link that the kubelet swaps on each change. Without
 * this, the agent could apply the document of one revision under the number of another revision.
 */
import { closeSync, fstatSync, openSync, readlinkSync, readSync } from "node:fs";
import { join } from "node:path";
import { type Grant, grantFiles, readGrant } from "#contract/grant.ts";
import { type PublishedMode, secretKeys, servedKeys } from "#contract/names.ts";
import { hasCode } from "../files/errno.ts";
import { type ContentFiles, interpret, type Mounted, mostBytes, revisionIn } from "./mount.ts";

/** `none`: the pod has no grant. `unread`: the volume cannot be read at present. */
export type GrantReading = Grant | "none" | "unread";

/** A grant and its content, read from the same state of the volume. */
export type Volume = Readonly<{ grant: GrantReading; mounted: Mounted }>;

/** The most bytes that we read of one annotation. It can have 256 KiB, but ours are short. */
const mostGrantBytes = 256;

/** Reads the grant alone. Never throws. */
export function readGrantIn(directory: string): GrantReading {
  const read = readConsistently(directory, grantAt);
  return "why" in read ? "unread" : read.value;
}

/** Reads the volume for an agent of this mode. Never throws. */
export function readVolume(directory: string, mode: PublishedMode): Volume {
  const read = readConsistently(directory, (at) => {
    const grant = grantAt(at);
    const file = (name: string) => readBounded(join(at, name), mostBytes);
    const newest = contentAt(file, secretKeys);
    const files = { newest, served: contentAt(file, servedKeys), mode: file(secretKeys.mode) };
    return { grant, mounted: select(files, grant, mode) };
  });
  if (!("why" in read)) return read.value;
  return { grant: readGrantIn(directory), mounted: { kind: "incomplete", why: read.why } };
}

type Slots = Readonly<{
  newest: ContentFiles;
  served: ContentFiles;
  mode: Buffer;
}>;

/**
 * Selects the content with the granted revision and digest, or without a grant the served content.
 * If both slots have the same revision, only the newest slot counts. If the agent's mode differs
 * from the Secret's mode, the agent takes only a release. Pure.
 */
function select(slots: Slots, grant: GrantReading, mode: PublishedMode): Mounted {
  const { newest, served } = slots;
  const revision = revisionIn(newest.revision);
  const offered = revisionIn(served.revision);
  if (revision === undefined || offered === undefined)
    return { kind: "incomplete", why: "revision is not a number" };
  const isOurMode = slots.mode.toString("latin1") === mode;
  const releasing = newest.intent.toString("latin1") === "release";
  const older = offered < revision ? served : undefined;
  if (typeof grant === "string" || grant.revision === 0) {
    if (offered === 0 || !isOurMode) return { kind: "nothing", releasing };
    const taken = interpret(older ?? newest);
    return taken.kind === "document" ? { ...taken, served: true } : taken;
  }
  const named =
    grant.revision === revision ? newest : grant.revision === offered ? older : undefined;
  if (named === undefined) return { kind: "other", revision };
  const content = interpret(named);
  if (content.kind !== "document") return content;
  if (content.digest !== grant.digest)
    return { kind: "other", revision, why: "with other content" };
  if (!isOurMode && content.intent !== "release")
    return { kind: "other", revision, why: "for another delivery mode" };
  return content;
}

function contentAt(read: (name: string) => Buffer, keys: typeof servedKeys | typeof secretKeys) {
  return {
    revision: read(keys.revision),
    document: read(keys.document),
    salt: read(keys.salt),
    intent: read(keys.intent),
    sources: read(keys.sources),
  };
}

function grantAt(directory: string): Grant | "none" {
  const read = (name: string) =>
    readBounded(join(directory, name), mostGrantBytes).toString("latin1");
  const texts = Object.entries(grantFiles).map(([part, name]) => [part, read(name)]);
  return readGrant(Object.fromEntries(texts) as Record<string, string>) ?? "none";
}

/**
 * Reads one state of the volume, from one directory whose files never change. If the kubelet
 * removes that directory meanwhile, reads again, up to two times.
 */
function readConsistently<T>(
  directory: string,
  read: (target: string) => T,
): Readonly<{ value: T }> | Readonly<{ why: string }> {
  let why = "";
  for (let tries = 0; tries < 3; tries += 1) {
    try {
      return { value: read(join(directory, swapTarget(directory))) };
    } catch (error) {
      why = error instanceof Error && "code" in error ? String(error.code) : String(error);
    }
  }
  return { why };
}

/**
 * A name that changes with every change of the mounted files; `undefined` without the kubelet's
 * `..data` link, because files can then change under the same name.
 */
export function mountOf(directory: string): string | undefined {
  try {
    return swapTarget(directory) || undefined;
  } catch {
    return undefined;
  }
}

/** The name of the directory with the present files; empty if the files are in the mount itself. */
function swapTarget(directory: string): string {
  try {
    return readlinkSync(join(directory, "..data"));
  } catch (error) {
    if (hasCode(error, "ENOENT")) return "";
    throw error;
  }
}

/**
 * Reads at most one byte more than `most`, which is enough to recognize a file that is too large.
 */
function readBounded(file: string, most: number): Buffer {
  const descriptor = openSync(file, "r");
  try {
    const buffer = Buffer.allocUnsafe(Math.min(fstatSync(descriptor).size, most) + 1);
    let length = 0;
    while (length < buffer.length) {
      const read = readSync(descriptor, buffer, length, buffer.length - length, length);
      if (read === 0) break;
      length += read;
    }
    // The bytes are not copied, because reading the largest Secret determines the agent's peak
    // memory.
    return buffer.subarray(0, length);
  } finally {
    closeSync(descriptor);
  }
}
