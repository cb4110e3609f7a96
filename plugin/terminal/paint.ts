/** Colours for terminals. */

/**
 * Whether a stream is a terminal with colours. Any non-empty value of NO_COLOR turns colour off
 * (no-color.org). With TERM=dumb, as in Emacs, we print no escape sequences.
 */
export const hasColour = (
  { isTTY }: Readonly<{ isTTY?: boolean }>,
  { NO_COLOR = "", TERM }: Readonly<Record<string, string | undefined>>,
): boolean => isTTY === true && TERM !== "dumb" && NO_COLOR === "";

export type Paint = Readonly<Record<keyof typeof inks, (text: string) => string>>;

const inks = { good: 32, doubt: 33, bad: 31, faint: 2, strong: 1 } as const;

/** Leaves each text unchanged without colours. */
export function paintFor(colour: boolean): Paint {
  const ink = (code: number) => (text: string) =>
    colour ? `\u001b[${code}m${text}\u001b[0m` : text;
  return Object.fromEntries(
    Object.entries(inks).map(([name, code]) => [name, ink(code)]),
  ) as unknown as Paint;
}
