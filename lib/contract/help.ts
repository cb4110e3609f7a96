/** The link to a code's explanation. The page has one anchor for each code. */
export const codesPage = "docs/reference/errors.md";

/** `GPS218` → `docs/reference/errors.md#gps218`. */
export function helpOf(code: string): string {
  return `${codesPage}#${code.toLowerCase()}`;
}

/** The link for the first code in the text; undefined if the text has none. */
export function helpIn(text: string): string | undefined {
  const [code] = /\bGPS\d{3}\b/.exec(text) ?? [];
  return code && helpOf(code);
}

/**
 * Maximum length of a condition's message: four times that of an Event's message, and far below the
 * 32 KiB that Kubernetes allows.
 */
const longestCondition = 4096;

/**
 * The text, cut to `longest` characters, with the link for its first code at the end. A cut never
 * removes the link.
 */
export function withHelp(text: string, longest = longestCondition): string {
  const help = helpIn(text);
  const end = help === undefined ? "" : ` [${help}]`;
  const room = longest - end.length;
  return (text.length > room ? `${text.slice(0, room - 1)}…` : text) + end;
}
