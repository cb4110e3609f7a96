/**
 * The last whole run of what is too slow for every change, as docs/faults.md shows it. Written by
 * the run itself, and only by one of every file on a tree whose commit says what was run.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const recordFile = "docs/faults-runs.json";
/** What a run before this one may have written. */
const written: ReadonlySet<string> = new Set([recordFile, "docs/faults.md"]);

const parts = { faults: "npm run test:faults", long: "npm run test:long", soak: "npm run soak" };
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

type Runs = Readonly<Partial<Record<Part, RecordedRun>>>;

export const isRecorded = (part: string): part is Part => Object.hasOwn(parts, part);

/** Changed files as `git status --porcelain` has them → whether the commit says what is run. */
export const isClean = (status: string): boolean =>
  status.split("\n").every((line) => line === "" || written.has(line.slice(3)));

const git = (...args: string[]): string =>
  execFileSync("git", args, { cwd: root, encoding: "utf8" });

/** Begins a run; undefined where it could not be said of what it is. */
export function begin():
  | ((part: Part, result: Pick<RecordedRun, "counts" | "skipped">) => void)
  | undefined {
  const [start, at] = [performance.now(), new Date().toISOString()];
  const commit = git("rev-parse", "--short=12", "HEAD").trim();
  if (!isClean(git("status", "--porcelain"))) return undefined;
  return (part, result) => {
    const minutes = Math.round((performance.now() - start) / 60_000);
    const runs: Runs = { ...recorded(), [part]: { at, commit, minutes, ...result } };
    writeFileSync(join(root, recordFile), `${JSON.stringify(runs, undefined, 2)}\n`);
    execFileSync(process.execPath, ["tools/docs.ts"], { cwd: root });
  };
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

/** The section of docs/faults.md; empty as long as nothing was recorded. */
export function runsSection(runs: Runs = recorded()): string {
  const rows = Object.entries(parts).flatMap(([part, verb]) => {
    const run = runs[part as Part];
    if (run === undefined) return [];
    const counts = Object.entries(run.counts).map(([what, number]) => `${number} ${what}`);
    const skipped = run.skipped.length === 0 ? "none" : run.skipped.join("; ");
    const when = `${run.at.slice(0, 16).replace("T", " ")} UTC`;
    return [
      `| \`${verb}\` | ${when} | \`${run.commit}\` | ${run.minutes} min | ${counts.join(", ")} | ${skipped} |`,
    ];
  });
  if (rows.length === 0) return "";
  return `## The last whole run

Written by the run itself: of every file, on a tree without changes.

| run | begun | commit | took | counted | skipped |
| --- | --- | --- | --- | --- | --- |
${rows.join("\n")}`;
}
