/** Compares the output that docs/extend/clusters.md shows with the output of a run. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const docs = join(import.meta.dirname, "../../docs");

/**
 * The page shows a command in one block and its output in the next block. Returns the rows of this
 * output.
 */
function printedBelow(page: string, command: string): readonly string[] {
  const text = readFileSync(join(docs, page), "utf8");
  const [, below = ""] = text.split(`${command}\n\`\`\`\n`);
  const [, body = ""] = /^\s*(?:[^`#]*\n)?```\n(.*?)^```/ms.exec(below) ?? [];
  const rows = rowsOf(body);
  assert.ok(rows.length > 0, `${page} shows nothing below ${command}`);
  return rows;
}

/**
 * The rows without the parts that differ from run to run: widths of columns, times, the version of
 * Kubernetes.
 */
const rowsOf = (printed: string): readonly string[] =>
  printed
    .split("\n")
    .map((line) => line.trim().replaceAll(/ +/g, " "))
    .filter((line) => line !== "")
    .map((line) =>
      line
        .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
        .replaceAll(/\bv\d+\.\d+\.\d+\b/g, "VERSION"),
    );

/**
 * Asserts that the page shows exactly the rows of this output. If the page's rows end with an
 * ellipsis, the rows before it must be the first rows of the output.
 */
export function assertShown(page: string, command: string, printed: string): void {
  const shown = printedBelow(page, command);
  const rows = rowsOf(printed);
  if (shown.at(-1) !== "…") assert.deepEqual(rows, shown, `${page}: ${command}`);
  else assert.deepEqual(rows.slice(0, shown.length - 1), shown.slice(0, -1), `${page}: ${command}`);
}

/** Asserts that this output contains each row of the page, in the same order. */
export function assertAmong(page: string, command: string, printed: string): void {
  const shown = printedBelow(page, command);
  const rows = rowsOf(printed);
  assert.deepEqual(
    rows.filter((row) => shown.includes(row)),
    shown,
    `${page}: ${command}\n${printed}`,
  );
}
