/** Runs test files with node:test in one process, and tells what became of each test. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { end, type Line } from "./reporter.ts";

export type How = Readonly<{
  /** Milliseconds that the process may take; a test that takes nine tenths of it has failed. */
  bound: number;
  env?: Readonly<Record<string, string>>;
  /** Called for each line as it comes, and for output that is not the reporter's. */
  seen?: (line: Line) => void;
  printed?: (text: string) => void;
}>;

export type Outcome = Readonly<{
  /** True if every test passed and at least one ran. */
  passed: boolean;
  seconds: number;
  lines: readonly Line[];
}>;

const beside = (name: string): string => join(import.meta.dirname, name);

/**
 * Runs the files in this order, all in one process: a process for each would cost a second of
 * processor time. A file that cannot be loaded, a process that ends too early and a run without any
 * test have failed.
 */
export async function runFiles(files: readonly string[], how: How): Promise<Outcome> {
  const argv = [
    ...(process.env["SEED"] || how.env?.["SEED"] ? ["--import", beside("seed.ts")] : []),
    "--test",
    "--test-isolation=none",
    // A handle that a test left open would keep the process for ever.
    "--test-force-exit",
    `--test-timeout=${Math.round(how.bound * 0.9)}`,
    `--test-reporter=${beside("reporter.ts")}`,
    "--test-reporter-destination=stdout",
    ...files,
  ];
  const begun = performance.now();
  const { NODE_TEST_CONTEXT: _outer, ...outer } = process.env;
  const child = spawn(process.execPath, argv, {
    env: { ...outer, ...how.env },
    stdio: ["ignore", "pipe", "pipe"],
    // An endless loop runs no timer of its own process.
    timeout: how.bound + Math.min(30_000, how.bound),
    killSignal: "SIGKILL",
  });
  // First this: tests then take their clusters down.
  const ending = setTimeout(() => child.kill("SIGTERM"), how.bound);
  // Whoever ends the run ends its tests, which then take their clusters down.
  const endChild = (): void => void child.kill("SIGTERM");
  process.on("exit", endChild);
  child.stderr.setEncoding("utf8").on("data", (text: string) => how.printed?.(text));
  const lines: Line[] = [];
  let ended = false;
  const closed = once(child, "close");
  for await (const text of createInterface({ input: child.stdout })) {
    ended ||= text === end;
    if (text === end) continue;
    const line = parsed(text);
    if (line === undefined) {
      how.printed?.(`${text}\n`);
      continue;
    }
    lines.push(line);
    how.seen?.(line);
  }
  const [code] = await closed;
  process.off("exit", endChild);
  clearTimeout(ending);
  const seconds = (performance.now() - begun) / 1000;
  const failed = lines.some(({ kind }) => kind === "failed");
  return { passed: code === 0 && ended && lines.length > 0 && !failed, seconds, lines };
}

/** A line of the reporter's; undefined for what a test printed. */
function parsed(text: string): Line | undefined {
  if (!text.startsWith('{"kind":')) return undefined;
  try {
    return JSON.parse(text) as Line;
  } catch {
    return undefined;
  }
}
