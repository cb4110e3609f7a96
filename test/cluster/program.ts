/** A program that runs beside a test, and its output. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { until } from "./await.ts";
import { directEnvironment } from "./run.ts";

export type RunningProgram = Readonly<{
  pid: number;
  /** Everything that the program has written to stdout and stderr so far. */
  output: () => string;
  signal: (name: NodeJS.Signals) => void;
  /** Sends SIGTERM and waits for the end; resolves with the exit code. */
  stop: () => Promise<number>;
  /** Sends SIGKILL and waits for the end. */
  kill: () => Promise<number>;
  /**
   * The exit code, or 128 if a signal ended the program. Undefined until all output has been read,
   * because the last lines arrive after the program's end.
   */
  exited: () => number | undefined;
  /** Resolves with the exit code when the program has ended. */
  ended: Promise<number>;
}>;

/** Starts a program in our own environment without proxies, with `env` added. */
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
 * Starts a program. When the program ends by itself, `again` gets the output since its last start,
 * and decides whether to start it again. `output` contains the output of all processes. `pid` and
 * `exited` describe the last process.
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

/**
 * For keepRunning: true if the program ended because it could not renew its Lease, as on a busy
 * machine.
 */
export const lostLease = (output: string): boolean => output.includes("not renewed for");

/** The port of /metrics and the health endpoints. Each of our programs logs this port. */
export async function portOf({ output }: RunningProgram): Promise<number> {
  return await until(
    "the program's port is logged",
    () => Number(/"port":(\d+)/.exec(output())?.[1]) || undefined,
  );
}
