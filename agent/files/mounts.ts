/** Reads the mounts of this process. */
import { closeSync, openSync, readSync } from "node:fs";
import { StringDecoder } from "node:string_decoder";

export type Mount = Readonly<{
  /** Numbers of the file system. */
  device: string;
  /** The path in the file system that is mounted. */
  source: string;
  point: string;
}>;

/**
 * The mounts at these mount points, in the order in which they were made. Throws the error of the
 * file system, for example if there is no /proc. The file is read in parts, without a size limit,
 * because pods can make many mounts, which the kernel passes on to the agent's container.
 */
export function readMounts(points: readonly string[], file: string): Mount[] {
  const decoder = new StringDecoder("utf8");
  const chunk = Buffer.alloc(65_536);
  const mounts: Mount[] = [];
  const descriptor = openSync(file, "r");
  try {
    for (let rest = ""; ;) {
      const length = readSync(descriptor, chunk);
      const text = rest + decoder.write(chunk.subarray(0, length));
      const end = length === 0 ? text.length : text.lastIndexOf("\n") + 1;
      mounts.push(...mountsIn(text.slice(0, end), (point) => points.includes(point)));
      if (length === 0) return mounts;
      rest = text.slice(end);
    }
  } finally {
    closeSync(descriptor);
  }
}

/** The mounts in whole lines of a mountinfo file whose mount point is relevant. Pure. */
export function mountsIn(text: string, isRelevant: (point: string) => boolean): Mount[] {
  return text.split("\n").flatMap((line) => {
    const [, , device, source, escaped] = line.split(" ");
    if (device === undefined || source === undefined || escaped === undefined) return [];
    const point = unescaped(escaped);
    return isRelevant(point) ? { device, source: unescaped(source), point } : [];
  });
}

/** The kernel writes spaces, tabs, line breaks and backslashes as octal numbers. */
function unescaped(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 8)),
  );
}
