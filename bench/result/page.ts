/** docs/performance.md: its table is measured, everything else in it is written by hand. */
import { readFileSync, writeFileSync } from "node:fs";
import type { BenchResult } from "./result.ts";
import { table } from "./table.ts";

const page = "docs/performance.md";
const [begin, end] = ["<!-- measured: npm run bench -- --write -->", "<!-- /measured -->"];

/** The build that the table is of, and how it was measured. */
export type BenchRun = Readonly<{ commit: string; date: Date; quick: boolean }>;

/** Puts the run's table into the page, in the place of the one before. */
export function writePage(run: BenchRun, results: readonly BenchResult[]): void {
  writeFileSync(page, withResults(readFileSync(page, "utf8"), run, results));
}

/** Pure part. No row of another run stays: one build for all of them. */
export function withResults(text: string, run: BenchRun, results: readonly BenchResult[]): string {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${page}: the lines ${begin} and ${end} are missing`);
  const how = run.quick ? "with `--quick`" : "whole";
  const said = `Measured on ${run.date.toISOString().slice(0, 10)}, commit \`${run.commit}\`, ${how}.`;
  return `${text.slice(0, from)}${begin}\n\n${said}\n\n${table(results)}\n${text.slice(to)}`;
}

/** Why this run may not be written into the page; empty when it may. */
export function unwritable(only: boolean, changed: string, failed: number): string {
  if (only) return "--write: not with --only, or the page would have rows of several builds";
  if (changed !== "") return "--write: commit first, or nobody can tell which build was measured";
  return failed === 0 ? "" : `--write: ${failed} measurements failed; the page stays as it was`;
}
