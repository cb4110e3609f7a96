/** For tests: why a part of the agent cannot be tried on this machine; false where it can. */
import { execFileSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";

/** The mounts and the identity of the boot are read there. */
export const needsProc = process.platform !== "linux" && "needs Linux: the agent reads /proc";

/** A minimal container image may lack the program. */
export const needsFifo =
  !(process.env["PATH"] ?? "").split(delimiter).some((dir) => existsSync(join(dir, "mkfifo"))) &&
  "needs the program mkfifo";

/** Puts a FIFO in a file's place: a reader of one would wait for somebody to write. */
export function makeFifo(path: string): void {
  rmSync(path, { recursive: true, force: true });
  execFileSync("mkfifo", [path]);
}
