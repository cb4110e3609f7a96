/** Why a part of the agent cannot be tested on this machine; false if it can. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";

/** The mounts and the boot ID are read from /proc. */
export const needsProc = process.platform !== "linux" && "needs Linux: the agent reads /proc";

export const needsRoot =
  process.getuid?.() !== 0 && "needs root: only root can give a file to another user";

/** Some minimal container images do not have the program. */
export const needsFifo =
  !(process.env["PATH"] ?? "").split(delimiter).some((dir) => existsSync(join(dir, "mkfifo"))) &&
  "needs the program mkfifo";

/** Replaces a file by a FIFO. A reader that simply opens the file would wait for a writer. */
export function makeFifo(path: string): void {
  rmSync(path, { recursive: true, force: true });
  execFileSync("mkfifo", [path]);
}

const spaces = ["--user", "--map-root-user", "--mount"];

/** Containers often refuse namespaces. */
export const needsMounts = () =>
  spawnSync("unshare", [...spaces, "true"]).status !== 0 &&
  "needs namespaces of its own: unshare is missing or refused";

/**
 * What a program prints after shell commands have mounted something in its namespace. `directory`:
 * `$1` of the commands, and `process.argv[1]` of the program.
 */
export function printedAfter(commands: string, program: string, directory: string): string {
  const script = `${commands} && exec "$0" --input-type=module -e "$2" "$1"`;
  const args = [...spaces, "sh", "-c", script, process.execPath, directory, program];
  const { stdout, stderr } = spawnSync("unshare", args, { encoding: "utf8" });
  return stdout + stderr;
}
