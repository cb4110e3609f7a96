/** Prints a value as text for people, or as JSON or YAML of a stable shape. */
import { oneOf } from "#contract/values.ts";
import { escape } from "#pullsecret/problems/keypath.ts";
import type { Io } from "./io.ts";

/**
 * Moves the cursor to the top left and erases the screen below it. Redrawing in this way does not
 * flicker.
 */
export const home = "\u001b[H\u001b[J";

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
  io: Pick<Io, "out" | "yaml">,
): Promise<void> {
  if (format === "json") io.out(`${JSON.stringify(value, undefined, 2)}\n`);
  else if (format === "yaml") io.out(await io.yaml(value));
  else io.out(textOf(lines(harmless(value))));
}

export const textOf = (lines: readonly string[]): string => `${lines.join("\n")}\n`;

/** Escapes every text in the value, because other programs wrote it. */
function harmless<T>(value: T): T {
  const escaped = (_: string, one: unknown) => (typeof one === "string" ? escape(one) : one);
  return JSON.parse(JSON.stringify(value), escaped) as T;
}
