/**
 * Reads one file that the kubelet may take its credentials from, and says what it would find there;
 * never what is in it.
 */
import { readAsKubelet } from "#pullsecret/kubelet/kubelet.ts";
import { hasCode } from "../files/errno.ts";
import { readRegular } from "../files/regular-file.ts";
import type { FileContent } from "../facts/search.ts";

/**
 * The largest known pull secrets have 100 KiB; read as one million values more would not fit the
 * container.
 */
const mostBytes = 256 * 1024;

/** Never throws, never follows a link as the last step, never blocks on a pipe. */
export function contentOf(file: string, legacy: boolean): FileContent {
  try {
    const read = readRegular(file, mostBytes, "refuse");
    if ("large" in read) return { unknown: `it has ${read.large} bytes` };
    // The kubelet cannot read what is no regular file either.
    return "irregular" in read ? "none" : judge(read.bytes, legacy);
  } catch (error) {
    if (hasCode(error, "ENOENT") || hasCode(error, "ENOTDIR")) return "none";
    if (hasCode(error, "ELOOP")) return { unknown: "it is a symbolic link" };
    return {
      unknown: error instanceof Error && "code" in error ? String(error.code) : "it cannot be read",
    };
  }
}

/** A legacy file is what `auths` holds in the other. */
function judge(bytes: Buffer, legacy: boolean): FileContent {
  const reading = readAsKubelet(
    legacy ? Buffer.concat([Buffer.from('{"auths":'), bytes, Buffer.from("}")]) : bytes,
  );
  if (!reading.ok) return "none";
  return reading.entries.length > 0 ? "entries" : "empty";
}
