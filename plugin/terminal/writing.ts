/** Lines for people, on standard error. */
import { escape } from "#pullsecret/problems/keypath.ts";

/**
 * Writes each text as one line. Control characters are escaped, because other clusters wrote much
 * of the text, and it could fool a terminal. Text that is already escaped stays unchanged.
 */
export const errTo =
  (write: (text: string) => void) =>
  (line: string): void =>
    write(`${escape(line)}\n`);
