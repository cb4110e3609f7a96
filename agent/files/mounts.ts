/** Reads the mounts of this process, with a size limit. */
import { closeSync, openSync, readSync } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { OwnError } from "./errno.ts";

export type Mount = Readonly<{
  /** Numbers of the file system. */
  device: string;
  /** The path in the file system that is mounted. */
  source: string;
  point: string;
  options: readonly string[];
}>;

export const ownMounts = "/proc/self/mountinfo";

/**
 * The kernel allows 100,000 mounts, each with about 200 bytes. Mounts of other pods count: the
 * kernel passes them on to the agent's container.
 */
const mostBytes = 32 * 1024 * 1024;

/**
 * The mounts that contain one of the paths, in the order in which they were made. Throws the error
 * of the file system, for example if there is no /proc.
 */
export function readMounts(paths: readonly string[], file = ownMounts): Mount[] {
  const decoder = new StringDecoder("utf8");
  const chunk = Buffer.alloc(65_536);
  const mounts: Mount[] = [];
  const descriptor = openSync(file, "r");
  try {
    let rest = "";
    for (let total = 0; ;) {
      const length = readSync(descriptor, chunk);
      total += length;
      if (total > mostBytes) throw new OwnError(`${file} has more than ${mostBytes} bytes`);
      const text = rest + decoder.write(chunk.subarray(0, length));
      const end = length === 0 ? text.length : text.lastIndexOf("\n") + 1;
      for (const mount of mountsIn(text.slice(0, end)))
        if (paths.some((path) => contains(mount, path))) mounts.push(mount);
      if (length === 0) return mounts;
      rest = text.slice(end);
    }
  } finally {
    closeSync(descriptor);
  }
}

/** The mounts in whole lines of a mountinfo file. Pure. */
export function mountsIn(text: string): Mount[] {
  return text.split("\n").flatMap((line) => {
    const [, , device, source, point, options] = line.split(" ");
    if (device === undefined || source === undefined || point === undefined) return [];
    return {
      device,
      source: unescaped(source),
      point: unescaped(point),
      options: options?.split(",") ?? [],
    };
  });
}

/**
 * The mount that contains a path. If two mounts have the same mount point, the later mount counts.
 */
export function mountOver(mounts: readonly Mount[], path: string): Mount | undefined {
  return mounts
    .filter((mount) => contains(mount, path))
    .reduce<Mount | undefined>(
      (best, mount) =>
        best === undefined || mount.point.length >= best.point.length ? mount : best,
      undefined,
    );
}

function contains({ point }: Mount, path: string): boolean {
  return `${path}/`.startsWith(point === "/" ? "/" : `${point}/`);
}

/** The kernel writes spaces, tabs, line breaks and backslashes as octal numbers. */
function unescaped(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 8)),
  );
}
