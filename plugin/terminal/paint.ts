/** Colours for terminals, and the progress bar of nodes. */
import type { Terminal } from "./io.ts";

/**
 * The terminal of a stream. Any non-empty value of NO_COLOR turns colour off (no-color.org). With
 * TERM=dumb, as in Emacs, we print no escape sequences.
 */
export function terminalOf(
  { isTTY, columns }: Readonly<{ isTTY?: boolean; columns?: number }>,
  { NO_COLOR = "", TERM }: Readonly<Record<string, string | undefined>>,
): Terminal | undefined {
  if (!isTTY || TERM === "dumb") return undefined;
  // The default of 80 is for terminals that report no width, such as a serial line.
  return { columns: columns || 80, colour: NO_COLOR === "" };
}

export type Paint = Readonly<Record<keyof typeof inks, (text: string) => string>>;

const inks = { good: 32, doubt: 33, bad: 31, faint: 2, strong: 1 } as const;

/** Leaves each text unchanged if there is no terminal, or if the terminal has no colours. */
export function paintFor(terminal: Terminal | undefined): Paint {
  const ink = (code: number) => (text: string) =>
    terminal?.colour === true ? `\u001b[${code}m${text}\u001b[0m` : text;
  return Object.fromEntries(
    Object.entries(inks).map(([name, code]) => [name, ink(code)]),
  ) as unknown as Paint;
}

/**
 * A bar of the given number of columns. Each part has its own letter. Every part above 0 gets at
 * least one column. If the bar would then be too long, the longest part becomes shorter.
 */
export function bar(
  parts: readonly (readonly [letter: string, count: number])[],
  whole: number,
  columns: number,
): string {
  const lengths = parts.map(([, count]) =>
    count === 0 ? 0 : Math.max(1, Math.floor((count * columns) / whole)),
  );
  const excess = Math.max(0, lengths.reduce((sum, length) => sum + length, 0) - columns);
  const longest = lengths.indexOf(Math.max(...lengths));
  const drawn = parts.map(([letter], at) =>
    letter.repeat(Math.max(0, (lengths[at] ?? 0) - (at === longest ? excess : 0))),
  );
  return `[${drawn.join("").padEnd(columns, ".").slice(0, columns)}]`;
}
