/** Key paths for people: `auths["quay.io"].auth`. Safe to print: no control characters, no user part, bounded length. */

const plainName = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const longest = 100;

/** A key without what may be a pasted secret: what stands before an `@`, and after `?` or `#`. */
export function redactKey(key: string): string {
  return key.replace(/^.*@/s, "[redacted]@").replace(/([?#]).+$/s, "$1[redacted]");
}

/** A redacted key in quotes, cut off when long. */
export function quote(key: string): string {
  const shown = redactKey(key);
  return escape(JSON.stringify(shown.length > longest ? `${shown.slice(0, longest)}…` : shown));
}

/** A text without control, format and line-breaking characters, which could fool a terminal. */
export function escape(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (c) => `\\u{${c.codePointAt(0)?.toString(16)}}`);
}

/** The way to a value: member names and list positions. */
export type Steps = readonly (string | number)[];

/** `auths["quay.io"].auth`; the document itself where there are no steps. */
export function formatPath(steps: Steps): string {
  let path = "";
  for (const step of steps) {
    if (typeof step === "number") path += `[${step}]`;
    else if (!plainName.test(step)) path += `[${quote(step)}]`;
    else path += path === "" ? step : `.${step}`;
  }
  return path === "" ? "document" : path;
}
