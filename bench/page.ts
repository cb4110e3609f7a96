/** docs/performance.md: its table is measured, everything else in it is written by hand. */
import { readFileSync, writeFileSync } from "node:fs";
import type { Result } from "./result.ts";
import { rule, tableOf, rowOf } from "./table.ts";

const page = "docs/performance.md";
const [begin, end] = ["<!-- measured: npm run bench -- --write -->", "<!-- /measured -->"];

/**
 * Puts the results into the page's table; rows that were not measured in this run stay as they are.
 */
export function writePage(results: readonly Result[]): void {
  writeFileSync(page, withResults(readFileSync(page, "utf8"), results));
}

/** Pure part: rows are known by their name, the first column. New ones come last. */
export function withResults(text: string, results: readonly Result[]): string {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${page}: the lines ${begin} and ${end} are missing`);
  const rows = new Map<string, readonly string[]>();
  for (const line of text.slice(from + begin.length, to).split("\n")) {
    const cells = line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
    const [name = ""] = cells;
    if (name !== "" && name !== "name" && !rule.test(name)) rows.set(name, cells);
  }
  for (const result of results) rows.set(result.name, rowOf(result));
  return `${text.slice(0, from)}${begin}\n\n${tableOf([...rows.values()])}\n${text.slice(to)}`;
}
