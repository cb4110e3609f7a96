/**
 * Measures how many random breakages of a folder the unit tests find. The breakages are made in
 * copies of the checkout. A breakage that the compiler refuses does not count.
 */
import { execFile } from "node:child_process";
import { cpSync, globSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { parseSync } from "oxc-parser";
import { Random } from "../random.ts";
import { temporary } from "../temporary.ts";
import { testsBy } from "./importers.ts";
import { type Breakage, breakagesOf } from "./operators.ts";

const root = join(import.meta.dirname, "../..");
/** At most so many test files run for a breakage. */
const nearest = 15;
/** A test file that takes longer, in milliseconds, fails, because many breakages make it hang. */
const longest = 60_000;

type Choice = Readonly<{ folder: string; seed: number; count: number; milliseconds: number }>;

/** A copy of the checkout in `directory`, which also gets the temporary files of the tests. */
function copyTo(directory: string): string {
  const copy = join(directory, "copy");
  const isCopied = (path: string) => !/\/(?:node_modules|\.git|dist|results)$/.test(path);
  cpSync(root, copy, { recursive: true, filter: isCopied });
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  return copy;
}

/**
 * Runs a program of Node in the copy. Returns its output and whether it succeeds. What it has
 * started ends with it, because it has its own process numbers.
 */
async function run(cwd: string, ...args: readonly string[]) {
  const [TMPDIR, NODE_COMPILE_CACHE] = [join(cwd, ".."), join(cwd, "../cache")];
  const unset = { NODE_TEST_CONTEXT: undefined, EVERY_POINT: undefined };
  const env = { ...process.env, ...unset, TMPDIR, NODE_COMPILE_CACHE, SEED: "20261" };
  const options = { cwd, env, timeout: longest, killSignal: "SIGKILL" } as const;
  const apart = ["--pid", "--fork", "--kill-child", "--mount-proc", process.execPath, ...args];
  return new Promise<Readonly<{ isGood: boolean; output: string }>>((settle) => {
    execFile("unshare", apart, options, (error, output) =>
      settle({ isGood: error === null, output }),
    );
  });
}

/** Removes what the compiler refuses. Each broken source lies beside its file for a while. */
async function compiled(copy: string, drawn: readonly Breakage[]): Promise<Breakage[]> {
  const valid = drawn.filter(({ file, broken }) => parseSync(file, broken).errors.length === 0);
  const files = valid.map(({ file }, at) => `${file.slice(0, -3)}.${at}.ts`);
  for (const [at, file] of files.entries())
    writeFileSync(join(copy, file), valid[at]?.broken ?? "");
  const compilerOptions = { noUnusedLocals: false, noUnusedParameters: false };
  const config = { extends: "./tsconfig.json", compilerOptions, include: [], files };
  writeFileSync(join(copy, "broken.json"), JSON.stringify(config));
  const { isGood, output } = await run(copy, "node_modules/.bin/tsc", "--project", "broken.json");
  if (!isGood && !output.includes(": error TS")) throw new Error(`the compiler failed: ${output}`);
  for (const file of files) rmSync(join(copy, file));
  return valid.filter((_, at) => !output.includes(`${files[at]}(`));
}

/**
 * The first test that fails with the breakage, and only with it: some tests need git. "SURVIVES" if
 * none fails, undefined if the time is over before.
 */
async function finderOf(copy: string, breakage: Breakage, tests: readonly string[], end: number) {
  const { file, source, broken } = breakage;
  const passes = async (text: string, test: string) => {
    writeFileSync(join(copy, file), text);
    return (await run(copy, "--import=./tools/build/laws.ts", test)).isGood;
  };
  try {
    for (const test of tests) {
      if (performance.now() > end) return undefined;
      if (!(await passes(broken, test)) && (await passes(source, test))) return test;
    }
    return "SURVIVES";
  } finally {
    writeFileSync(join(copy, file), source);
  }
}

/** Judges `count` breakages, or as many as the time allows, and reports each. */
export async function measure(
  t: Pick<TestContext, "after" | "diagnostic">,
  { folder, seed, count, milliseconds }: Choice,
) {
  const end = performance.now() + milliseconds;
  const random = new Random(seed);
  const files = globSync(`${folder}/**/*.ts`, { cwd: root }).toSorted();
  const possible = files
    .filter((file) => !/\.(?:test|fixture)\.ts$/.test(file))
    .flatMap((file) => breakagesOf(file, readFileSync(join(root, file), "utf8")));
  const draw = () => possible.splice(random.below(possible.length), 1);
  const copies = Array.from({ length: availableParallelism() }, () => copyTo(temporary(t)));
  const drawn = await compiled(copies[0] ?? "", Array.from({ length: 3 * count }, draw).flat());
  const waiting = drawn.slice(0, count).values();
  const testsOf = testsBy(root);
  const results = { found: 0, judged: 0 };
  const work = async (copy: string) => {
    // The copies share the iterator, so each takes the next one.
    for (const breakage of waiting) {
      const tests = testsOf(breakage.file).slice(0, nearest);
      const finder = await finderOf(copy, breakage, tests, end);
      if (finder === undefined) return;
      results.judged += 1;
      if (finder !== "SURVIVES") results.found += 1;
      t.diagnostic(`${breakage.edit}: ${finder}`);
    }
  };
  await Promise.all(copies.map(work));
  return results;
}
