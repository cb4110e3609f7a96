/**
 * The last whole run of what is too slow for every change, as docs/faults.md shows it. Written by
 * the run itself, on a tree whose commit says what was run. The files of test:long take hours
 * together, so each has a record of its own.
 */
import { execFileSync } from "node:child_process";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isRunWhole, turns } from "#build/turns.ts";

const root = join(import.meta.dirname, "..");
const recordFile = "docs/faults-runs.json";
/** What a run before this one may have written. */
const written: ReadonlySet<string> = new Set([recordFile, "docs/faults.md"]);

const parts = { faults: "npm run test:faults", soak: "npm run soak" };
export type Part = keyof typeof parts;

export type RecordedRun = Readonly<{
  /** When it began: ISO 8601, UTC. */
  at: string;
  commit: string;
  minutes: number;
  /** What was counted, such as `tests`, and how often. */
  counts: Readonly<Record<string, number>>;
  /** Names of the tests that did not run. */
  skipped: readonly string[];
}>;

/** A file of test:long, run whole. */
export type RecordedFile = Omit<RecordedRun, "skipped">;

type Runs = Readonly<
  Partial<Record<Part, RecordedRun>> & { long?: Readonly<Record<string, RecordedFile>> }
>;

/** What a run adds to the record. */
export type Recorder = Readonly<{
  whole: (part: Part, result: Pick<RecordedRun, "counts" | "skipped">) => void;
  /** As it is reported, in the order in which files began: hours of others may still follow. */
  file: (path: string, result: Pick<RecordedFile, "counts" | "minutes">) => void;
}>;

export const isRecorded = (part: string): part is Part => Object.hasOwn(parts, part);

/** Changed files as `git status --porcelain` has them → whether the commit says what is run. */
export const isClean = (status: string): boolean =>
  status.split("\n").every((line) => line === "" || written.has(line.slice(3)));

const git = (...args: string[]): string =>
  execFileSync("git", args, { cwd: root, encoding: "utf8" });

/** Begins a run; undefined where it could not be said of what it is. */
export function begin(): Recorder | undefined {
  const [start, at] = [performance.now(), new Date().toISOString()];
  const commit = git("rev-parse", "--short=12", "HEAD").trim();
  if (!isClean(git("status", "--porcelain"))) return undefined;
  return {
    whole: (part, result) => {
      const minutes = Math.round((performance.now() - start) / 60_000);
      write({ ...recorded(), [part]: { at, commit, minutes, ...result } });
    },
    file: (path, result) => {
      const { long, ...others } = recorded();
      write({ ...others, long: { ...long, [path]: { at, commit, ...result } } });
    },
  };
}

function write(runs: Runs): void {
  writeFileSync(join(root, recordFile), `${JSON.stringify(runs, undefined, 2)}\n`);
  execFileSync(process.execPath, ["tools/docs.ts"], { cwd: root });
}

function recorded(): Runs {
  const file = join(root, recordFile);
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Runs) : {};
}

/** What TAP says in the end, and which tests it calls skipped. */
export function readTap(text: string): Pick<RecordedRun, "counts" | "skipped"> {
  const count = (what: string) => {
    const all = text.matchAll(new RegExp(`^# ${what} (\\d+)$`, "gm"));
    return [...all].reduce((sum, [, number]) => sum + Number(number), 0);
  };
  const skipped = [...text.matchAll(/^\s*ok \d+ - (.*?) # SKIP/gm)].map(([, name = ""]) => name);
  const failed = count("fail") + count("cancelled");
  return { counts: { tests: count("tests"), passed: count("pass"), failed }, skipped };
}

const whenOf = ({ at }: RecordedFile): string => `${at.slice(0, 16).replace("T", " ")} UTC`;

const countsOf = ({ counts }: RecordedFile): string =>
  Object.entries(counts)
    .map(([what, number]) => `${number} ${what}`)
    .join(", ");

/** The section of docs/faults.md: the runs, and each file of test:long, run or not. */
export function runsSection(
  runs: Runs = recorded(),
  files: readonly string[] = [
    ...globSync("test/**/*.long.test.ts", { cwd: root }),
    ...turns.filter((file) => !isRunWhole(file)),
  ].toSorted(),
): string {
  const wholes = Object.entries(parts).flatMap(([part, verb]) => {
    const run = runs[part as Part];
    if (run === undefined) return [];
    const skipped = run.skipped.length === 0 ? "none" : run.skipped.join("; ");
    return [
      `| \`${verb}\` | ${whenOf(run)} | \`${run.commit}\` | ${run.minutes} min | ${countsOf(run)} | ${skipped} |`,
    ];
  });
  const each = files.map((file) => {
    const run = runs.long?.[file];
    if (run === undefined) return `| \`${file}\` | never | | | |`;
    return `| \`${file}\` | ${whenOf(run)} | \`${run.commit}\` | ${run.minutes} min | ${countsOf(run)} |`;
  });
  return `## The last whole runs

Written by the runs themselves, on a tree without changes.

| run | begun | commit | took | counted | skipped |
| --- | --- | --- | --- | --- | --- |
${wholes.join("\n")}

\`npm run test:long\` takes hours; its files may be run a few at a time (\`node build/run.mjs
build/test.ts long WORD\`), and each has the record of its own last run.

| file | begun | commit | took | counted |
| --- | --- | --- | --- | --- |
${each.join("\n")}`;
}
