/**
 * `npm test` and its parts: `node build/run.mjs build/test.ts all|unit|long|faults [word …]`. A
 * word narrows to the files whose path has it.
 *
 * unit: beside the sources; needs nothing but the checkout. long: what is slow by nature, and every
 * file that takes turns. faults: the whole matrix, every point of it instead of a sample. all:
 * everything but what is slow by nature, and without a word only the files whose turn it is
 * (turns.ts). What is under test/ needs real parts, which are installed and built first; its files
 * run in two lanes (lanes.ts), the longest first.
 */
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { cacheRoot } from "../test/cluster/cache.ts";
import { begin, isRecorded, readTap } from "../tools/runs.ts";
import { lanes } from "./lanes.ts";
import { type FileSummary, type How, known, runFiles } from "./run-files.ts";
import { inTurn, isRunWhole, turns } from "./turns.ts";

const [part = "all", ...words] = process.argv.slice(2);
const files = globSync("**/*.test.ts", { exclude: ["node_modules/**"] })
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .toSorted();
const isReal = (file: string): boolean => file.startsWith("test/");
const isSlow = (file: string): boolean => file.endsWith(".long.test.ts");
const isLong = (file: string): boolean =>
  isSlow(file) || (turns.includes(file) && !isRunWhole(file));
const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
// No file's turn is NaN: all of them would be left out in silence.
if (!Number.isSafeInteger(seed))
  throw new Error(`SEED=${process.env["SEED"]}: give a whole number`);
const quick = files.filter((file) => !isSlow(file));

const chosen = {
  all: words.length === 0 ? inTurn(quick, seed) : quick,
  unit: files.filter((file) => !isReal(file)),
  long: files.filter((file) => isLong(file)),
  faults: files.filter((file) => file.startsWith("test/faults/")),
}[part];
if (chosen === undefined) throw new Error(`${part}: give all, unit, long or faults`);
for (const word of words)
  if (!chosen.some((file) => file.includes(word)))
    throw new Error(`${word}: no test file of ${part} has it in its path`);

if (part === "all" && words.length === 0) {
  const inTurns = chosen.filter((file) => turns.includes(file));
  process.stderr.write(`in turn (SEED=${seed}): ${inTurns.join(", ")}\n`);
}

const begun = performance.now();

/** Only a whole run is recorded, for docs/faults.md, and each file of test:long by itself. */
const record = part === "long" || (words.length === 0 && isRecorded(part)) ? begin() : undefined;
const taps = mkdtempSync(join(tmpdir(), "tests-"));
let told = "";
let runs = 0;

/** Runs the files; true when every test passed. */
async function run(tests: readonly string[], { env: given, ...how }: Omit<How, "tap">) {
  if (tests.length === 0) return true;
  const tap = join(taps, `${(runs += 1)}.tap`);
  const env = { ...given, ...(part === "faults" ? { EVERY_POINT: "1" } : {}) };
  const ended = (file: string, summary: FileSummary) => {
    // test:faults runs those of test/faults as well.
    if (isLong(file)) record?.file(file, summary);
  };
  const passed = await runFiles(tests, { ...how, env, tap, ended });
  told += readFileSync(tap, "utf8");
  return passed;
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
const { counts, skipped } = readTap(told);
for (const name of skipped) process.stderr.write(`skipped: ${name}\n`);
if (words.length === 0) {
  const minutes = Math.round((performance.now() - begun) / 6000) / 10;
  // What makes CI wait: on a machine where all is built already, 30 minutes are what it may take.
  const slow = part === "all" && minutes > 30 ? ", of 30 that it may take where all is built" : "";
  process.stderr.write(`${minutes} minutes${slow}\n`);
}
if (isRecorded(part)) record?.whole(part, { counts, skipped });
process.exit(passed ? 0 : 1);
