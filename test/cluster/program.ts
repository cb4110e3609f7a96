/** A program that runs beside a test, and its output. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { until } from "./await.ts";
import { directEnvironment } from "./run.ts";

export type RunningProgram = Readonly<{
  pid: number;
  /** Everything that it wrote to stdout and stderr so far. */
  output: () => string;
  signal: (name: NodeJS.Signals) => void;
  /** SIGTERM and wait; resolves with the exit code. */
  stop: () => Promise<number>;
  /** SIGKILL and wait. */
  kill: () => Promise<number>;
  /**
   * The exit code, 128 if a signal ended it, once it has ended and all its output has been read:
   * its last lines come through the pipe after its end.
   */
  exited: () => number | undefined;
  /** Resolves with it. */
  ended: Promise<number>;
}>;

/** Starts it, in our own environment without proxies, with `env` added. */
export function startProgram(
  [program = "", ...args]: readonly string[],
  env: Readonly<Record<string, string>> = {},
): RunningProgram {
  const child = spawn(program, args, {
    env: directEnvironment(env),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
  let exited: number | undefined;
  const ended = once(child, "close").then(([code]) => (exited = (code as number | null) ?? 128));
  const end = async (signal: NodeJS.Signals): Promise<number> => {
    child.kill(signal);
    return await ended;
  };
  return {
    pid: child.pid ?? 0,
    output: () => output,
    signal: (name) => void child.kill(name),
    stop: () => end("SIGTERM"),
    kill: () => end("SIGKILL"),
    exited: () => exited,
    ended,
  };
}

/**
 * Starts it, and again each time that it ends by itself if `again` accepts its output since its
 * last start. The output is of all its processes, `pid` and `exited` of the last.
 */
export function keepRunning(
  start: () => RunningProgram,
  again: (output: string) => boolean,
): RunningProgram {
  let reported = "";
  let program = start();
  let over = false;
  const watch = async (): Promise<void> => {
    const code = await program.ended;
    if (over || code === 128 || !again(program.output())) return;
    reported += program.output();
    program = start();
    void watch();
  };
  void watch();
  const last = async (end: () => Promise<number>): Promise<number> => {
    over = true;
    return await end();
  };
  return {
    get pid() {
      return program.pid;
    },
    output: () => reported + program.output(),
    signal: (name) => program.signal(name),
    stop: () => last(() => program.stop()),
    kill: () => last(() => program.kill()),
    exited: () => program.exited(),
    get ended() {
      return program.ended;
    },
  };
}

/** For keepRunning: this machine was too busy for it to renew its Lease. */
export const lostLease = (output: string): boolean => output.includes("not renewed for");

/** The port of /metrics and its siblings, which each of our programs logs. */
export async function portOf({ output }: RunningProgram): Promise<number> {
  return await until(
    "its port is logged",
    () => Number(/"port":(\d+)/.exec(output())?.[1]) || undefined,
  );
}
