/** Results for people (one Markdown table) and for programs (JSON). */
import { isMet, type BenchResult } from "./result.ts";

/** The measured build, and how it was measured. `changed`: the checkout had uncommitted changes. */
export type BenchRun = Readonly<{ commit: string; date: Date; quick: boolean; changed: boolean }>;

const dayOf = ({ date }: BenchRun): string => date.toISOString().slice(0, 10);
const buildOf = ({ commit, changed }: BenchRun): string =>
  changed ? `${commit} with changes` : commit;

/** The sentence above a table; the day is in UTC. */
export function headingOf(run: BenchRun): string {
  const how = run.quick ? "with `--quick`" : "whole";
  return `Measured on ${dayOf(run)}, commit \`${buildOf(run)}\`, ${how}.`;
}

const head = ["name", "value", "unit", "baseline", "ratio", "goal", "met?", "rounds"];

export function table(results: readonly BenchResult[]): string {
  const body = results.map(rowOf);
  const rows = [head, ...body];
  const widths = head.map((_, column) =>
    Math.max(3, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, column) => (row[column] ?? "").padEnd(width)).join(" | ")} |`;
  const below = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return `${[line(head), below, ...body.map(line)].join("\n")}\n`;
}

/**
 * The results as JSON: `{"results":[{"name","value","unit","baseline","ratio","goal", …}]}`. Absent
 * values are null. Each row names its build, so that you can combine rows of several files.
 */
export function json(run: BenchRun, results: readonly BenchResult[]): string {
  const rows = results.map((result) => ({
    commit: buildOf(run),
    date: dayOf(run),
    quick: run.quick,
    name: result.name,
    value: result.value,
    unit: result.unit,
    baseline: result.baseline ?? null,
    ratio: result.ratio ?? null,
    goal: goalText(result) || null,
    met: isMet(result) ?? null,
    against: result.against ?? null,
    range: result.range ?? null,
    rounds: result.rounds,
  }));
  return `${JSON.stringify({ results: rows }, null, 2)}\n`;
}

function rowOf(result: BenchResult): string[] {
  const { name, value, unit, baseline, against, ratio, range } = result;
  const met = isMet(result);
  const spreadOf =
    range === undefined || range[0] === range[1]
      ? ""
      : ` [${number(range[0])}–${number(range[1])}]`;
  return [
    name,
    number(value) + (ratio === undefined ? spreadOf : ""),
    unit,
    baseline === undefined ? "" : `${number(baseline)} (${against ?? ""})`,
    ratio === undefined ? "" : `${number(ratio)} ×${spreadOf}`,
    goalText(result),
    met === undefined ? "" : met ? "yes" : "**no**",
    String(result.rounds),
  ];
}

function goalText({ goal, unit }: BenchResult): string {
  if (goal === undefined) return "";
  return goal.of === "ratio" ? `≤ ${goal.atMost} ×` : `≤ ${goal.atMost} ${unit}`;
}

/** Three significant digits, without an exponent. */
export function number(value: number): string {
  if (Number.isInteger(value) || Math.abs(value) >= 1000) return String(Math.round(value));
  return String(Number(value.toPrecision(3)));
}
