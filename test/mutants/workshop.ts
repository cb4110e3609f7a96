/** A copy of the checkout, in which one breakage at a time is applied and tested. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Mutant } from "./mutant.ts";

const root = join(import.meta.dirname, "../..");
const left: ReadonlySet<string> = new Set([".git", "dist", "node_modules"]);

/** What came of a file's tests: how many there were, and how many turned red. */
export type Outcome = Readonly<{ tests: number; red: number; output: string }>;

/** Ten times what the slowest needs on two busy cores: a breakage may make a loop endless. */
const patience = { real: 1_200_000, unit: 300_000 };

export class Workshop implements Disposable {
  readonly #place = mkdtempSync(join(tmpdir(), "mutants-"));

  constructor() {
    const filter = (file: string) => !left.has(basename(file));
    cpSync(root, this.#place, { recursive: true, filter });
    symlinkSync(join(root, "node_modules"), join(this.#place, "node_modules"));
  }

  /** Runs the tests of one file on the copy as it is. */
  async run(file: string): Promise<Outcome> {
    // What is under test/ needs the programs as they ship, which have to be built from the copy.
    const real = file.startsWith("test/");
    const argv = real ? ["build/test.ts", "all", file] : ["--test", "--test-reporter=spec", file];
    const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
    const child = spawn(process.execPath, argv, {
      cwd: this.#place,
      env,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: real ? patience.real : patience.unit,
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    await once(child, "close");
    const count = (what: string) =>
      Number(new RegExp(`^ℹ ${what} (\\d+)$`, "m").exec(output)?.[1] ?? Number.NaN);
    return { tests: count("tests"), red: count("fail") + count("cancelled"), output };
  }

  /** Runs `what` on the copy with the breakage, and takes it back. */
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
