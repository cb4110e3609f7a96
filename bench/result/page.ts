/** docs/inside/performance.md: the bench writes its table. Everything else is written by hand. */
import { readFileSync, writeFileSync } from "node:fs";
import type { BenchResult } from "./result.ts";
import { headingOf, table, type BenchRun } from "./table.ts";

const page = "docs/inside/performance.md";
const [begin, end] = ["<!-- measured: npm run bench -- --write -->", "<!-- /measured -->"];

/** Replaces the page's table with that of this run. */
export function writePage(run: BenchRun, results: readonly BenchResult[]): void {
  writeFileSync(page, withResults(readFileSync(page, "utf8"), run, results));
}

/** Pure part. Replaces all rows, so that every row comes from one build. */
export function withResults(text: string, run: BenchRun, results: readonly BenchResult[]): string {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${page}: the lines ${begin} and ${end} are missing`);
  return `${text.slice(0, from)}${begin}\n\n${headingOf(run)}\n\n${table(results)}\n${text.slice(to)}`;
}

/** A checkout at one moment: its commit, and the changed files that `git status` lists. */
export type Checkout = Readonly<{ commit: string; changed: string }>;

/**
 * Why the bench must not write this run into the page; empty if there is no reason. Compares the
 * checkout before and after the run, because the measurements read the checkout's files for hours.
 */
export function unwritable(
  only: boolean,
  before: Checkout,
  { after = before, failed = 0 }: Readonly<{ after?: Checkout; failed?: number }> = {},
): string {
  if (only) return "--write: not with --only, or the page would have rows of several builds";
  if (before.changed !== "") return "--write: commit first, so that the measured build is known";
  if (after.commit !== before.commit || after.changed !== "")
    return "--write: the tree changed during the run; the page stays as it was";
  return failed === 0 ? "" : `--write: ${failed} measurements failed; the page stays as it was`;
}
