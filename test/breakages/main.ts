/**
 * Measures how many random breakages of the product's code the unit tests find: `npm run breakages
 * -- FOLDER COUNT [SEED]`. Each breakage is one edit of one line in a copy of the checkout. First
 * run the tests that import the file, the nearest first, then all others.
 */
import { spawn } from "node:child_process";
import { cpSync, globSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { tierOf } from "#tools/build/tiers.ts";
import { Random } from "../random.ts";
import { testsBy } from "./importers.ts";
import { type Breakage, breakagesOf } from "./operators.ts";

const [folder = "lib", count = "20", seed = `${Date.now() % 1_000_000}`, depth = "all"] =
  process.argv.slice(2);
const root = resolve(import.meta.dirname, "../..");
/** Files of one run of Node's test runner. A run ends early only between two runs. */
const filesAtOnce = 12;
/** A breakage that makes the tests wait for ever is found. Milliseconds for each file. */
const patience = 40_000;

type Drawn = Readonly<{ file: string; source: string; breakage: Breakage }>;

function draw(): Drawn[] {
  const random = new Random(Number(seed));
  const files = globSync(`${folder}/**/*.ts`, { cwd: root });
  const possible = files
    .filter((file) => !/\.(?:test|fixture)\.ts$/.test(file))
    .toSorted()
    .flatMap((file) => {
      const source = readFileSync(join(root, file), "utf8");
      return breakagesOf(file, source).map((breakage) => ({ file, source, breakage }));
    });
  return Array.from({ length: Number(count) }, () => random.pick(possible));
}

/** A copy of the checkout, in which the tests run. */
function copy(): string {
  const directory = mkdtempSync(join(tmpdir(), "breakages-"));
  const isCopied = (path: string) => !/\/(?:node_modules|\.git|dist|results)$/.test(path);
  cpSync(root, directory, { recursive: true, filter: isCopied });
  symlinkSync(join(root, "node_modules"), join(directory, "node_modules"));
  return directory;
}

/** Whether all tests of the files pass. */
async function pass(directory: string, files: readonly string[]): Promise<boolean> {
  const args = ["--import=./tools/build/laws.ts", "--test", "--test-concurrency=1"];
  const limit = AbortSignal.timeout(patience * files.length);
  const runner = spawn(process.execPath, [...args, "--test-force-exit", ...files], {
    cwd: directory,
    env: { ...process.env, SEED: "20261", PATIENCE: "2", TZ: "Pacific/Kiritimati" },
    stdio: "ignore",
    signal: limit,
  });
  return new Promise((settle) => {
    runner.once("error", () => settle(false));
    runner.once("exit", (code) => settle(code === 0));
  });
}

const units = globSync("**/*.test.ts", { cwd: root, exclude: ["node_modules/**"] }).filter(
  (file) => tierOf(file) === "test",
);
const testsOf = testsBy(root);

/** The tests for a file: groups of at most `filesAtOnce`, the nearest first. */
function* groupsFor(file: string): Iterable<readonly string[]> {
  const near = testsOf(file).map((group) => group.filter((path) => units.includes(path)));
  const flat = near.flat();
  const others = units.filter((path) => !flat.includes(path));
  const ordered = depth === "all" ? [...flat, ...others] : flat;
  for (let at = 0; at < ordered.length; at += filesAtOnce)
    yield ordered.slice(at, at + filesAtOnce);
}

async function isFound(directory: string, { file, source, breakage }: Drawn): Promise<boolean> {
  const path = join(directory, file);
  const { start, end, text } = breakage;
  writeFileSync(path, source.slice(0, start) + text + source.slice(end));
  try {
    for (const files of groupsFor(file)) if (!(await pass(directory, files))) return true;
    return false;
  } finally {
    writeFileSync(path, source);
  }
}

const waiting = draw();
let found = 0;
async function work(): Promise<void> {
  const directory = copy();
  for (let drawn = waiting.pop(); drawn !== undefined; drawn = waiting.pop()) {
    const { file, source, breakage } = drawn;
    const line = source.slice(0, breakage.start).split("\n").length;
    const isKilled = await isFound(directory, drawn);
    if (isKilled) found += 1;
    const removed = source.slice(breakage.start, breakage.end).replaceAll(/\s+/g, " ");
    const words = [isKilled ? "found   " : "survives", `${file}:${line}`, breakage.what, removed];
    process.stdout.write(`${words.join("  ").slice(0, 200)}\n`);
  }
}
await Promise.all(Array.from({ length: availableParallelism() }, work));
process.stdout.write(`${folder}, seed ${seed}: ${found} of ${count} found\n`);
