/** Prints a value as text for people, or as JSON or YAML of a stable shape. */
import { oneOf } from "#contract/values.ts";
import { escape } from "#pullsecret/problems/keypath.ts";
import type { ScreenIo } from "./io.ts";
import type { Paint } from "./paint.ts";

export type Format = "text" | "json" | "yaml";

export const outputFlag = {
  output: {
    read: oneOf("text", "json", "yaml"),
    standard: "text",
    short: "o",
    what: "how to print, text, json or yaml",
  },
} as const;

/**
 * Prints the value unchanged for programs. For people, prints lines, and escapes characters in them
 * that could fool a terminal.
 */
export async function print<T>(
  format: Format,
  value: T,
  lines: (value: T) => readonly string[],
  io: Pick<ScreenIo, "out" | "yaml">,
): Promise<void> {
  if (format === "json") io.out(`${JSON.stringify(value, undefined, 2)}\n`);
  else if (format === "yaml") io.out(await io.yaml(value));
  else io.out(textOf(lines(harmless(value))));
}

const textOf = (lines: readonly string[]): string => `${lines.join("\n")}\n`;

/** Escapes every text in the value, because other programs wrote it. */
function harmless<T>(value: T): T {
  const escaped = (_: string, field: unknown) =>
    typeof field === "string" ? escape(field) : field;
  return JSON.parse(JSON.stringify(value), escaped) as T;
}

/** Prints each text that differs from the one before it. */
export function printChanges(print: (line: string) => void): (line: string) => void {
  let last = "";
  return (line) => {
    if (line !== last) print(line);
    last = line;
  };
}

/** The rows as lines, indented by two spaces, without blanks at the end of a line. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const count = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows.map((row) =>
    `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")}`.trimEnd(),
  );
}

type Row = Readonly<{ cells: readonly string[]; isGood: boolean }>;

/** The rows below a head. Rows that need attention are coloured. */
export function table(head: readonly string[], rows: readonly Row[], paint: Paint): string[] {
  const [title = "", ...lines] = columns([head, ...rows.map(({ cells }) => cells)]);
  const body = lines.map((line, at) => (rows[at]?.isGood === true ? line : paint.doubt(line)));
  return [paint.strong(title), ...body];
}

/**
 * The age, as in kubectl's column AGE (duration.HumanDuration of apimachinery). While the first
 * unit is small, the age has two units, such as 5m10s. 0s for a future time. Empty for a text that
 * is not a time.
 */
export function age(at: string, now: number): string {
  const milliseconds = now - Date.parse(at);
  if (Number.isNaN(milliseconds)) return "";
  return span(Math.max(0, Math.floor(milliseconds / 1000)));
}

/** Formats a number of seconds as kubectl does. */
export function span(seconds: number): string {
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3600)];
  const [days, years] = [Math.floor(hours / 24), Math.floor(hours / 24 / 365)];
  if (seconds < 120) return `${seconds}s`;
  if (minutes < 10) return pair(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  if (hours < 8) return pair(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  if (days < 8) return pair(days, "d", hours % 24, "h");
  if (days < 730) return `${days}d`;
  return years < 8 ? pair(years, "y", days % 365, "d") : `${years}y`;
}

const pair = (many: number, unit: string, few: number, small: string): string =>
  few === 0 ? `${many}${unit}` : `${many}${unit}${few}${small}`;
