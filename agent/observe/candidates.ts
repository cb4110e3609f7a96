/**
 * Reads one file that the kubelet may take its credentials from, and says what it would find there;
 * never what is in it.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { readAsKubelet } from "#pullsecret/kubelet.ts";
import { hasCode } from "../files/errno.ts";
import type { Content } from "../facts/search.ts";

/**
 * The largest known pull secrets have 100 KiB; read as one million values more would not fit the
 * container.
 */
const mostBytes = 256 * 1024;

/** Never throws, never follows a link as the last step, never blocks on a pipe. */
export function contentOf(file: string, legacy: boolean): Content {
  try {
    const bytes = read(file);
    return bytes === undefined ? "none" : judge(bytes, legacy);
  } catch (error) {
    if (hasCode(error, "ENOENT") || hasCode(error, "ENOTDIR")) return "none";
    if (hasCode(error, "ELOOP")) return { unknown: "it is a symbolic link" };
    return {
      unknown: error instanceof Error && "code" in error ? String(error.code) : "it cannot be read",
    };
  }
}

/** Undefined for what is no regular file, which the kubelet cannot read either. */
function read(file: string): Buffer | undefined {
  const descriptor = openSync(
    file,
    constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
  );
  try {
    const found = fstatSync(descriptor);
    if (!found.isFile()) return undefined;
    if (found.size > mostBytes)
      throw Object.assign(new Error(), { code: `it has ${found.size} bytes` });
    const bytes = Buffer.alloc(found.size);
    return bytes.subarray(0, readSync(descriptor, bytes, 0, found.size, 0));
  } finally {
    closeSync(descriptor);
  }
}

/** A legacy file is what `auths` holds in the other. */
function judge(bytes: Buffer, legacy: boolean): Content {
  const reading = readAsKubelet(
    legacy ? Buffer.concat([Buffer.from('{"auths":'), bytes, Buffer.from("}")]) : bytes,
  );
  if (!reading.ok) return "none";
  return reading.entries.length > 0 ? "entries" : "empty";
}
