/** Where a code is explained: a page with an anchor for each code, and a command that prints it. */
export const codesPage = "docs/reference/errors.md";

/** `GPS218` → `docs/reference/errors.md#gps218`. */
export const anchorOf = (code: string): string => `${codesPage}#${code.toLowerCase()}`;

/** `GPS218` → `kubectl pull-secret help GPS218`. The plugin contains the page. */
export const helpOf = (code: string): string => `kubectl pull-secret help ${code}`;

/** The command for the first code in the text; undefined if the text has none. */
export function helpIn(text: string): string | undefined {
  const [code] = /\bGPS\d{3}\b/.exec(text) ?? [];
  return code && helpOf(code);
}

/** Maximum length of the message of a condition or an Event, so that a person reads all of it. */
const longest = 200;

/**
 * The text, cut to 200 characters, with the command for its first code at the end. The cut is in
 * the middle, because a text begins with what is wrong, and ends with what to do or with an API
 * server's reason. The log has the whole text.
 */
export function withHelp(text: string): string {
  const help = helpIn(text);
  const end = help === undefined ? "" : ` [${help}]`;
  const room = longest - end.length;
  if (text.length <= room) return text + end;
  const half = Math.floor((room - 1) / 2);
  return `${text.slice(0, room - 1 - half)}…${text.slice(-half)}${end}`;
}
