/** Runs other programs, and prints progress. */
import { execFile, spawnSync, type ChildProcess } from "node:child_process";

export type RunOptions = Readonly<{
  input?: string | Uint8Array;
  cwd?: string;
  env?: Readonly<Record<string, string>>;
  /** Called with each piece of stderr as soon as it arrives. */
  stderr?: (text: string) => void;
}>;

/**
 * Our own environment without proxies: everything that the tests reach is on this machine, and a
 * proxy could not reach it.
 */
export function directEnvironment(
  extra: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const variables = Object.entries(process.env).filter(
    ([name]) => !/^(all|https?|no)_proxy$/i.test(name),
  );
  return { ...(Object.fromEntries(variables) as Record<string, string>), ...extra };
}

/** Programs that run() has started and that have not ended. */
const running = new Set<ChildProcess>();

/**
 * At the end of this process, kills the programs in `running`, so that no program creates anything
 * after the clean-up.
 */
export function endRunning(): void {
  for (const child of running) child.kill("SIGKILL");
}

/** Runs a program to its end and returns its stdout. Fails with the command line and its stderr. */
export function run(argv: readonly string[], options: RunOptions = {}): Promise<string> {
  const [program = "", ...args] = argv;
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const child = execFile(
    program,
    args,
    { cwd: options.cwd, env: options.env ?? process.env, maxBuffer: 256 << 20 },
    (error, stdout, stderr) => {
      running.delete(child);
      if (error === null) resolve(stdout);
      else
        reject(
          new Error(`${shorten(argv)}: ${stderr.trim() || stdout.trim() || error.message}`, {
            cause: error,
          }),
        );
    },
  );
  running.add(child);
  if (options.stderr !== undefined) child.stderr?.on("data", options.stderr);
  child.stdin?.on("error", () => {}); // a program can end without reading its input
  child.stdin?.end(options.input ?? "");
  return promise;
}

/**
 * Like `run`, for code that cannot await. Never throws: returns undefined if the program failed.
 */
export function runSync(argv: readonly string[]): string | undefined {
  const [program = "", ...args] = argv;
  const ended = spawnSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  return ended.status === 0 ? ended.stdout : undefined;
}

/** One short sentence on stderr with the seconds since this process began. */
export function progress(sentence: string): void {
  const seconds = Math.round(performance.now() / 1000);
  process.stderr.write(`[${String(seconds).padStart(4)} s] ${sentence}\n`);
}

function shorten(argv: readonly string[]): string {
  const line = argv.join(" ");
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}
