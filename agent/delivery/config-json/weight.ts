/**
 * Estimates how much memory a JSON text takes, before it is parsed: a parsed value may take fifty
 * times its bytes.
 */

const quote = '"'.charCodeAt(0);
const backslash = "\\".charCodeAt(0);
/** What comes before a value: a comma, or the start of what holds it. */
const before: ReadonlySet<number> = new Set([..."[{,"].map((sign) => sign.charCodeAt(0)));

/**
 * Counts the values below the top one; an empty list or object counts twice. Works for any bytes,
 * JSON or not.
 */
export function countValues(bytes: Uint8Array): number {
  let count = 0;
  for (let at = 0; at < bytes.length; at++) {
    const sign = bytes[at] ?? 0;
    if (sign === quote) at = endOfString(bytes, at);
    else if (before.has(sign)) count++;
  }
  return count;
}

/** The position of the quote that ends a string, or the end of the bytes. */
function endOfString(bytes: Uint8Array, start: number): number {
  let end = start;
  do end = bytes.indexOf(quote, end + 1);
  while (end > 0 && isEscaped(bytes, end));
  return end < 0 ? bytes.length : end;
}

function isEscaped(bytes: Uint8Array, at: number): boolean {
  let first = at;
  while (bytes[first - 1] === backslash) first--;
  return (at - first) % 2 === 1;
}

/**
 * Twice what a Secret may hold: as much of others' as of ours. The largest known pull secrets have
 * some 100 KiB.
 */
export const mostBytes = 2 * 1024 * 1024;
/**
 * Bytes, with 100 for each value: 2 MiB of text that V8 keeps in two bytes a character, with 2,000
 * values, fill its heap of 32 MiB in a rollback as 20,000 small ones do. With more the agent may be
 * killed in the middle of a step (test/faults/memory.test.ts).
 */
const mostWeight = 2_300_000;
const valueWeight = 100;

/** What exceeds the agent's memory, if anything: such bytes are neither read nor written. */
export function excess(bytes: Uint8Array): string | undefined {
  if (bytes.length > mostBytes) return "more than 2 MiB";
  const values = countValues(bytes);
  return bytes.length + valueWeight * values > mostWeight
    ? `${values} values in ${bytes.length} bytes, more than the agent can hold`
    : undefined;
}
