/**
 * Starts a program of the control plane in the hub's network and the cluster's control group. Its
 * output goes to a file.
 */
import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { Hopeless } from "../await.ts";
import { inGroups } from "./cgroup.ts";
import { directEnvironment } from "../run.ts";

export type Daemon = Readonly<{
  name: string;
  argv: readonly string[];
  groups: readonly string[];
  /** The file to which stdout and stderr are appended. */
  log: string;
  env?: Readonly<Record<string, string>>;
}>;

/**
 * Starts a program that outlives this process. Returns its pid and `check`, which the probes of
 * waits call. Once the program has died, `check` throws an error with the end of the log.
 */
export function startDaemon(daemon: Daemon): { pid: number; check: () => void } {
  const log = openSync(daemon.log, "a", 0o600);
  const [program = "", ...args] = inGroups(daemon.groups, daemon.argv);
  // Detached, so that Ctrl-C reaches only the tests, which then end the program in order.
  const child = spawn(program, args, {
    detached: true,
    stdio: ["ignore", log, log],
    env: directEnvironment(daemon.env),
    cwd: "/",
  });
  closeSync(log);
  child.on("error", () => {}); // reported by check()
  child.unref();
  return {
    pid: child.pid ?? 0,
    check: () => {
      if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) return;
      const end = readFileSync(daemon.log, "utf8").trim().split("\n").slice(-15).join("\n");
      throw new Hopeless(
        `${daemon.name} died (${child.signalCode ?? child.exitCode}); the end of ${daemon.log}:\n${end}`,
      );
    },
  };
}
