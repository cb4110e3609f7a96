/**
 * `npm test` and its parts: `node build/run.mjs build/test.ts all|unit|long|faults [word …]`. A
 * word narrows to the files whose path has it.
 *
 * unit: beside the sources; needs nothing but the checkout. long: what is slow by nature. faults:
 * the whole matrix, every point of it instead of a sample. all: everything but what is slow by
 * nature. What is under test/ needs real parts, which are installed and built first; its files run
 * in two lanes (lanes.ts), the longest first.
 */
import { globSync, mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { cacheRoot } from "../test/cluster/cache.ts";
import { lanes } from "./lanes.ts";
import { type How, known, runFiles } from "./run-files.ts";

const [part = "all", ...words] = process.argv.slice(2);
const files = globSync("**/*.test.ts", { exclude: ["node_modules/**"] })
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .toSorted();
const isReal = (file: string): boolean => file.startsWith("test/");
const isSlow = (file: string): boolean => file.endsWith(".long.test.ts");
const quick = files.filter((file) => !isSlow(file));

const chosen = {
  all: quick,
  unit: files.filter((file) => !isReal(file)),
  long: files.filter((file) => isSlow(file)),
  faults: files.filter((file) => file.startsWith("test/faults/")),
}[part];
if (chosen === undefined) throw new Error(`${part}: give all, unit, long or faults`);
for (const word of words)
  if (!chosen.some((file) => file.includes(word)))
    throw new Error(`${word}: no test file of ${part} has it in its path`);

const begun = performance.now();

const taps = mkdtempSync(join(tmpdir(), "tests-"));
let runs = 0;

/** Runs the files; true when every test passed. */
async function run(tests: readonly string[], { env: given, ...how }: Omit<How, "tap">) {
  if (tests.length === 0) return true;
  const tap = join(taps, `${(runs += 1)}.tap`);
  const env = { ...given, ...(part === "faults" ? { EVERY_POINT: "1" } : {}) };
  return await runFiles(tests, { ...how, env, tap });
}

/**
 * A test or a file that takes longer than this many milliseconds is named and ended, and a handle
 * that a test left open does not keep its file running: either would cost the whole run its result.
 * The longest test of `npm test` takes four minutes on two slow and busy cores, its longest file
 * 13; of test:long a test takes twenty, and a file of deliberate breakages an hour.
 */
const bound = part === "all" ? 1_500_000 : 3 * 3_600_000;

let passed = await run(
  chosen.filter((file) => !isReal(file)),
  // As far from UTC as a zone can be: what is told in the machine's own turns red anywhere.
  { concurrency: availableParallelism(), env: { TZ: "Pacific/Kiritimati" } },
);
const real = chosen.filter(isReal);
if (real.length > 0) {
  const { freshBundle } = await import("./bundle.ts");
  const { setUp } = await import("../test/cluster/setup.ts");
  await freshBundle();
  await setUp();
  const durations = join(cacheRoot, `seconds-${part}.json`);
  const ended = lanes(real, known(durations)).map(async ({ concurrency, files }) => {
    const env = { PATIENCE: "4" };
    // A narrowed run may be one of a deliberate breakage.
    return await run(files, { concurrency, bound, env, ...(words.length === 0 && { durations }) });
  });
  passed = (await Promise.all(ended)).every(Boolean) && passed;
}
rmSync(taps, { recursive: true });
if (words.length === 0) {
  const minutes = Math.round((performance.now() - begun) / 6000) / 10;
  // What makes CI wait: on a machine where all is built already, 30 minutes are what it may take.
  const slow = part === "all" && minutes > 30 ? ", of 30 that it may take where all is built" : "";
  process.stderr.write(`${minutes} minutes${slow}\n`);
}
process.exit(passed ? 0 : 1);
