/** Runs test files with node:test in one process, and reports the result of each test. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { forTests } from "./environment.ts";
import { channel, filesVariable, loadBoundVariable, loader, markOf } from "./marks.ts";
import type { Line, Report } from "./reporter.ts";

export type How = Readonly<{
  /** The process's limit in milliseconds. */
  bound: number;
  /** The limit in milliseconds for a test, or for loading a file; by default 9/10 of `bound`. */
  testBound?: number;
  /** Variables in addition to those that forTests() takes from this process. */
  env?: Readonly<Record<string, string>>;
  /** Ends the run early. Tests then have a minute to remove their clusters. */
  signal?: AbortSignal;
  /** Called for each line as it arrives, and for the output of the tests. */
  seen?: (line: Line) => void;
  printed?: (text: string) => void;
}>;

export type Outcome = Readonly<{
  /** True if a test passed, none failed, and every file was loaded and reported. */
  passed: boolean;
  seconds: number;
  lines: readonly Line[];
}>;

const beside = (name: string): string => join(import.meta.dirname, name);

/**
 * Runs the files in this order, all in one process, because a process for each file would cost a
 * second of CPU time. A file fails if it does not load or registers no test. The run fails if the
 * process ends too early. Afterwards ends every program that the tests started, except detached
 * programs.
 */
export async function runFiles(files: readonly string[], how: How): Promise<Outcome> {
  const begun = performance.now();
  const child = start(files, how);
  const group = new Group(child);
  // After this time we kill the process, because a process in an endless loop cannot handle a
  // signal.
  const grace = Math.min(60_000, how.bound);
  const timers: NodeJS.Timeout[] = [];
  const endSoon = (): void => {
    child.kill("SIGTERM");
    timers.push(setTimeout(() => group.end(), grace));
  };
  timers.push(setTimeout(endSoon, how.bound));
  how.signal?.addEventListener("abort", endSoon);
  if (how.signal?.aborted) endSoon();
  const closed = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>;
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => how.printed?.(text));
  const lines: Line[] = [];
  const fail = (file: string, error: string): void =>
    add({ kind: "failed", name: markOf(file), file, error });
  function add(line: Line): void {
    lines.push(line);
    how.seen?.(line);
  }
  /** Files whose mark is missing so far. */
  const awaited = new Set(files);
  let ended = false;
  for await (const text of createInterface({ input: child.stdio[channel] as Readable })) {
    const report = JSON.parse(text) as Report;
    if (report.kind === "end") ended = true;
    else if (report.kind === "loaded") awaited.delete(report.file);
    else add(report);
  }
  const [code, killedBy] = await closed;
  for (const timer of timers) clearTimeout(timer);
  how.signal?.removeEventListener("abort", endSoon);
  const has = (kind: Line["kind"]): boolean => lines.some((line) => line.kind === kind);
  const [first = files.at(-1) ?? ""] = awaited;
  if (!ended)
    fail(
      first,
      `the process ended before all tests were reported: ${killedBy ?? `exit code ${code}`}`,
    );
  if (!has("failed"))
    // A test that is marked `only` silences all other tests, and the marks.
    for (const file of awaited) fail(file, "another test silences the tests of this file");
  if (!has("failed") && code !== 0) fail(first, `the tests set the exit code ${code}`);
  const seconds = (performance.now() - begun) / 1000;
  return { passed: has("passed") && !has("failed"), seconds, lines };
}

function start(files: readonly string[], how: How): ChildProcess {
  const testBound = Math.round(how.testBound ?? how.bound * 0.9);
  const env = { ...forTests(process.env), ...how.env };
  const argv = [
    "--import",
    beside("laws.ts"),
    "--test",
    "--test-isolation=none",
    // A handle that a test left open would keep the process alive forever.
    "--test-force-exit",
    `--test-timeout=${testBound}`,
    `--test-reporter=${beside("reporter.ts")}`,
    "--test-reporter-destination=stdout",
    loader,
  ];
  return spawn(process.execPath, argv, {
    env: {
      ...env,
      [filesVariable]: JSON.stringify(files),
      [loadBoundVariable]: String(testBound),
    },
    // The last descriptor is open until this process ends; the loader watches it.
    stdio: ["ignore", "pipe", "pipe", "pipe", "pipe"],
    // The child gets its own process group, with all programs that the tests start.
    detached: true,
  });
}

/** The process of the tests, with all processes that it started. */
class Group {
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    this.#child = child;
    const end = this.end.bind(this);
    process.on("exit", end);
    // Ends programs that a test left behind. They keep the pipes of the tests' process open, and
    // this run would wait for them.
    child.once("exit", () => {
      process.off("exit", end);
      this.end();
    });
  }

  end(): void {
    try {
      process.kill(-(this.#child.pid ?? Number.NaN), "SIGKILL");
    } catch {
      // All processes of the group have already ended.
    }
  }
}

/**
 * From now on, the first signal that would end the program only aborts the returned controller, so
 * that the program can end its tests first. A second signal ends the program and its tests at once.
 */
export function endedBySignal(): AbortController {
  const ending = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => {
      if (ending.signal.aborted) process.exit(1);
      ending.abort();
    });
  return ending;
}
