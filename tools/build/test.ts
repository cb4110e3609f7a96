/**
 * `npm test`, `npm run test:cluster` and `npm run test:all [shard]`: `node tools/build/run.mjs
 * tools/build/test.ts test|cluster|all [word …]`. A word selects the files whose paths contain the
 * word; tiers.ts assigns the files to commands.
 *
 * The first two commands always use the same seed, `all` uses a random seed. `SEED=n` repeats the
 * run that printed this seed.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { allTests } from "#tools/pages/promises-page.ts";
import type { Line } from "./reporter.ts";
import { choicesIn } from "./environment.ts";
import { endedBySignal, type Outcome, runFiles } from "./run-files.ts";
import { missingIn, progressOf, summaryOf } from "./summary.ts";
import { commandOf, type Group, groupsOf, shards, testFiles, type Tier, tierOf } from "./tiers.ts";

const [tier, ...words] = process.argv.slice(2) as [Tier, ...string[]];

/** The folder for the output of a run of `all`; git ignores it. */
const results = "results";

/**
 * The seed of `npm test` and `test:cluster`. The number has no meaning; another number gives other
 * schedules.
 */
const committedSeed = 20_261;

/**
 * The time limit of a process in milliseconds. The longest file of test:cluster takes five minutes,
 * the longest file of test:all an hour and a half.
 */
const bound = { test: 20 * 60_000, cluster: 20 * 60_000, all: 180 * 60_000 }[tier];

/** Milliseconds for one test of `npm test`, so that the run soon reports a test that hangs. */
const testBound = tier === "test" ? 60_000 : undefined;

function refuse(problem: string): never {
  process.stderr.write(`${problem}\n`);
  process.exit(2);
}

const drawn = tier === "all" ? Date.now() % 1_000_000 : committedSeed;
const seed = Number(process.env["SEED"] || drawn);
if (!Number.isSafeInteger(seed)) refuse(`SEED=${process.env["SEED"]}: give a whole number`);

const patience = process.env["PATIENCE"] || "1";
if (!(Number(patience) > 0)) refuse(`PATIENCE=${patience}: give a number above 0`);

/**
 * The groups to run, with only the files whose paths contain one of the words. For `all`, the first
 * word can be the name of a shard.
 */
function chosen(): readonly Group[] {
  const [first = ""] = words;
  const isShard = tier === "all" && shards.includes(first);
  const groups = groupsOf(tier).filter(({ name }) => !isShard || name === first);
  const wanted = isShard ? words.slice(1) : words;
  for (const word of wanted)
    if (!groups.some(({ files }) => files.some((file) => file.includes(word))))
      refuse(`${word}: ${whereIs(word)}`);
  return groups.flatMap((group) => {
    const files = group.files.filter((file) => fits(file, wanted));
    return files.length === 0 ? [] : [Object.assign({}, group, { files })];
  });
}

const fits = (file: string, wanted: readonly string[]): boolean =>
  wanted.length === 0 || wanted.some((word) => file.includes(word));

function whereIs(word: string): string {
  const other = testFiles().find((file) => file.includes(word));
  if (other !== undefined) return `${commandOf[tierOf(other)]} runs ${other}`;
  const known = tier === "all" ? `; the shards are ${shards.join(", ")}` : "";
  return `no path of a test file contains it${known}`;
}

const lines: Line[] = [];
const outcomes: Outcome[] = [];

function show(line: Line): void {
  lines.push(line);
  if (line.kind === "failed")
    process.stdout.write(`FAILED ${line.file}: ${line.name}\n${line.error}\n\n`);
}

async function run(name: string, files: readonly string[], group: Group): Promise<void> {
  const printed: string[] = [];
  const outcome = await runFiles(files, {
    bound,
    ...(testBound === undefined ? {} : { testBound }),
    env: { ...group.env, SEED: String(seed) },
    signal: ending.signal,
    seen: show,
    printed: (text) => printed.push(text),
  });
  outcomes.push(outcome);
  if (tier !== "test") process.stdout.write(`${progressOf(name, outcome)}\n`);
  const text = printed.join("");
  if (tier === "all") keep(name, text, outcome);
  // Prints the output of failed files, and in `npm test` also the output of passed files.
  if (!outcome.passed || (tier === "test" && text !== ""))
    process.stdout.write(`${name} printed:\n${text.slice(-20_000)}\n`);
}

function keep(name: string, printed: string, { lines: its }: Outcome): void {
  const file = join(results, `${name.replace(/\.test\.ts$/, "")}.txt`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${its.map((line) => JSON.stringify(line)).join("\n")}\n\n${printed}`);
}

async function runGroup(group: Group): Promise<void> {
  if (group.processes === "one") return await run(group.name, group.files, group);
  const waiting = [...group.files];
  const work = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift())
      if (!ending.signal.aborted) await run(file, [file], group);
  };
  await Promise.all(Array.from({ length: group.processes }, work));
}

const ending = endedBySignal();

// This limit is high enough for the slowest machine so far, and below CI's limit for its three
// commands.
if (tier === "cluster")
  setTimeout(() => {
    process.stdout.write("FAILED: test:cluster takes longer than 70 minutes\n");
    ending.abort();
  }, 70 * 60_000).unref();

const begun = performance.now();
const groups = chosen();
if (tier === "all") rmSync(results, { recursive: true, force: true });
const environment = { ...process.env, ...(tier === "all" ? { SEED: String(seed) } : {}) };
const choices = choicesIn(environment);
if (choices !== "") process.stdout.write(`${choices}\n`);
if (tier !== "test") {
  const { freshBundle } = await import("./bundle.ts");
  const { setUp } = await import("#test/cluster/setup.ts");
  await freshBundle();
  await setUp();
}
// The groups run one after the other, because a shard uses the whole machine, and the tests in
// test/story depend on real time.
for (const group of groups) if (!ending.signal.aborted) await runGroup(group);

const seconds = (performance.now() - begun) / 1000;
const isWhole = words.length === 0 && !ending.signal.aborted;
const missing = isWhole ? missingIn(lines, tier, allTests()) : [];
for (const one of missing) process.stdout.write(`FAILED: no passed test shows ${one}\n`);
const summary = summaryOf(lines, { tier, seconds, whole: isWhole });
process.stdout.write(summary);
if (tier === "all") writeFileSync(join(results, "summary.txt"), `SEED=${seed}\n${summary}`);
const isOver = outcomes.length > 0 && !ending.signal.aborted;
const isGood = isOver && missing.length === 0 && outcomes.every(({ passed }) => passed);
process.exit(isGood ? 0 : 1);
