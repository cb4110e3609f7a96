/** Why a part of the agent cannot be tested on this machine; false if it can. */
import { execFileSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";

/** The mounts and the boot ID are read from /proc. */
export const needsProc = process.platform !== "linux" && "needs Linux: the agent reads /proc";

/** Some minimal container images do not have the program. */
export const needsFifo =
  !(process.env["PATH"] ?? "").split(delimiter).some((dir) => existsSync(join(dir, "mkfifo"))) &&
  "needs the program mkfifo";

/** Replaces a file by a FIFO. A reader that simply opens the file would wait for a writer. */
export function makeFifo(path: string): void {
  rmSync(path, { recursive: true, force: true });
  execFileSync("mkfifo", [path]);
}
