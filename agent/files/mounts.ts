/** The mounts that this process sees, from /proc/self/mountinfo. */
import { readFileSync } from "node:fs";

export type Mount = Readonly<{ point: string; options: readonly string[] }>;

/** All mounts, in the order in which they were made. Throws where there is no /proc. */
export function readMounts(): Mount[] {
  return mountsIn(readFileSync("/proc/self/mountinfo", "utf8"));
}

/** The mounts in the text of a mountinfo file. Pure. */
export function mountsIn(text: string): Mount[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => line.split(" "))
    .map(([, , , , point = "", options = ""]) => ({
      point: unescaped(point),
      options: options.split(","),
    }));
}

/** The mount that a path lies on; of two at the same place the later one. */
export function mountOver(mounts: readonly Mount[], path: string): Mount | undefined {
  const over = mounts.filter(({ point }) =>
    `${path}/`.startsWith(point === "/" ? "/" : `${point}/`),
  );
  return over.reduce<Mount | undefined>(
    (best, one) => (best === undefined || one.point.length >= best.point.length ? one : best),
    undefined,
  );
}

/** The kernel writes spaces, tabs, line breaks and backslashes as octal numbers. */
function unescaped(point: string): string {
  return point.replace(/\\([0-7]{3})/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 8)),
  );
}
