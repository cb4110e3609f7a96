/**
 * The volume with global-pull-secret, as the kubelet mounted it. All files are read through one
 * target of `..data`, the link that the kubelet swaps on each change. Without this, the agent could
 * apply the document of one revision under the number of another revision.
 */
import { closeSync, fstatSync, openSync, readlinkSync, readSync } from "node:fs";
import { join } from "node:path";
import { hasCode } from "../files/errno.ts";
import type { Contents } from "./contents.ts";
import { mostBytes } from "./mount.ts";

/** Reads the volume with `select`. Never throws. */
export function readVolume(
  directory: string,
  select: (read: (name: string) => Buffer) => Contents,
): Contents {
  let why = "";
  // If the kubelet removes the directory with the files meanwhile, reads again.
  for (let tries = 0; tries < 3; tries += 1) {
    try {
      const target = join(directory, swapTarget(directory));
      return select((name) => readBounded(join(target, name), mostBytes));
    } catch (error) {
      why = error instanceof Error && "code" in error ? String(error.code) : String(error);
    }
  }
  return { kind: "incomplete", why };
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
