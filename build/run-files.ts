/**
 * Runs test files side by side, each in a process of its own, those first that took longest the
 * last time: a long one that begins last runs alone, on one of the cores, while the others idle.
 */
import { createWriteStream, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { finished, pipeline } from "node:stream/promises";
import { run } from "node:test";
import { spec, tap } from "node:test/reporters";

export type Seconds = Readonly<Record<string, number>>;

export type How = Readonly<{
  concurrency: number;
  /** Milliseconds after which a test that hangs is named; a hung handle then ends with its file. */
  bound?: number;
  env?: Readonly<Record<string, string>>;
  /** Where the TAP goes. */
  tap: string;
  /** Where the seconds of each file are kept from run to run, of all lanes together. */
  durations?: string;
  /** Is told of each file what was counted in it. */
  ended?: (file: string, summary: FileSummary) => void;
}>;

export type FileSummary = Readonly<{ minutes: number; counts: Readonly<Record<string, number>> }>;

/** Files in the order in which they begin: what is not known yet first, then the longest. */
export function inOrder(files: readonly string[], took: Seconds): string[] {
  const secondsOf = (file: string): number => took[file] ?? Number.POSITIVE_INFINITY;
  return files.toSorted((one, other) => {
    const [first, second] = [secondsOf(one), secondsOf(other)];
    return first === second ? 0 : second - first;
  });
}

/** What the files took the last time; nothing where that was not kept, or was cut off by a kill. */
export function known(durations: string | undefined): Seconds {
  if (durations === undefined || !existsSync(durations)) return {};
  try {
    return JSON.parse(readFileSync(durations, "utf8")) as Seconds;
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}

/** Runs the files; true when every test passed. */
export async function runFiles(files: readonly string[], how: How): Promise<boolean> {
  const { concurrency, bound, durations } = how;
  const bounds = bound === undefined ? {} : { timeout: bound, forceExit: true };
  const env = { ...process.env, ...how.env } as Record<string, string>;
  const execArgv = process.env["SEED"] ? ["--import", join(import.meta.dirname, "seed.ts")] : [];
  const tests = run({
    files: inOrder(files, known(durations)),
    concurrency,
    env,
    execArgv,
    ...bounds,
  });
  const now: Record<string, number> = {};
  let passed = false;
  tests.on("test:summary", ({ file, duration_ms: milliseconds, success, counts }) => {
    if (file === undefined) {
      passed = success;
      return;
    }
    const path = relative(process.cwd(), file);
    now[path] = Math.round(milliseconds / 1000);
    const failed = counts.tests - counts.passed - counts.skipped - counts.todo;
    const minutes = Math.round(milliseconds / 6000) / 10;
    how.ended?.(path, { minutes, counts: { tests: counts.tests, failed } });
  });
  const shown = tests.compose(new spec());
  shown.pipe(process.stdout);
  await Promise.all([finished(shown), pipeline(tests.compose(tap), createWriteStream(how.tap))]);
  if (durations !== undefined) {
    mkdirSync(dirname(durations), { recursive: true });
    writeFileSync(durations, JSON.stringify({ ...known(durations), ...now }));
  }
  return passed;
}
