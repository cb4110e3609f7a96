/** A copy of the checkout in which the tests apply one breakage at a time. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { tierOf } from "#tools/build/tiers.ts";
import type { Mutant } from "./mutant.ts";

const root = join(import.meta.dirname, "../..");
const laws = join(root, "tools/build/laws.ts");
const bail = join(import.meta.dirname, "bail.ts");
const left: ReadonlySet<string> = new Set([".git", "dist", "node_modules", "results"]);

/** The result of a file's tests: the number of tests, the number of failures, and their names. */
export type MutantOutcome = Readonly<{
  tests: number;
  red: number;
  redNames: readonly string[];
  output: string;
}>;

/**
 * The time limit of one test file in milliseconds, because a breakage may make a loop endless: ten
 * times as long as the slowest file takes on two busy cores.
 */
const timeouts = { real: 1_200_000, unit: 300_000 };

export class Workshop implements Disposable {
  readonly #place = mkdtempSync(join(tmpdir(), "mutants-"));

  constructor() {
    const filter = (file: string) => !left.has(basename(file));
    cpSync(root, this.#place, { recursive: true, filter });
    symlinkSync(join(root, "node_modules"), join(this.#place, "node_modules"));
  }

  /**
   * Runs all tests of one file in the copy, or only those whose name contains `word`. After a
   * failed test no other test runs, because each could wait a minute for an event that never comes.
   */
  async run(file: string, word?: string): Promise<MutantOutcome> {
    const real = tierOf(file) !== "test";
    // A test on real parts runs the bundles, therefore we build them from the copy.
    if (real) await this.#node(["tools/build/bundle.ts"], timeouts.unit);
    const narrow = word === undefined ? [] : [`--test-name-pattern=\\b${word}\\b`];
    const argv = [
      "--import",
      laws,
      "--import",
      bail,
      "--test",
      "--test-reporter=spec",
      ...narrow,
      file,
    ];
    const output = await this.#node(argv, real ? timeouts.real : timeouts.unit);
    const count = (what: string) =>
      Number(new RegExp(`^ℹ ${what} (\\d+)$`, "m").exec(output)?.[1] ?? Number.NaN);
    const redNames = Array.from(
      output.matchAll(/^ *✖ (.*) \([\d.]+ms\)$/gm),
      ([, name = ""]) => name,
    );
    return { tests: count("tests"), red: count("fail") + count("cancelled"), redNames, output };
  }

  async #node(argv: readonly string[], timeout: number): Promise<string> {
    // Halves the time limits of waits, because only one test file runs at a time. This saves time:
    // if a breakage suppresses an event, the wait for the event takes its whole limit.
    const { NODE_TEST_CONTEXT: _context, ...outer } = process.env;
    const env = { ...outer, PATIENCE: "0.5" };
    const child = spawn(process.execPath, argv, {
      cwd: this.#place,
      env,
      stdio: ["ignore", "pipe", "pipe"],
      timeout,
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    await once(child, "close");
    return output;
  }

  /** Runs `what` on the copy with the breakage, then removes the breakage. */
  async broken<T>({ file, text, instead }: Mutant, what: () => Promise<T>): Promise<T> {
    const place = join(this.#place, file);
    const before = readFileSync(place, "utf8");
    writeFileSync(
      place,
      before.replace(text, () => instead),
    );
    try {
      return await what();
    } finally {
      writeFileSync(place, before);
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.#place, { recursive: true });
  }
}
