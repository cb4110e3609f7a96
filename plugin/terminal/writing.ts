/** Writes lines for people to standard error. */
import { escape } from "#pullsecret/problems/keypath.ts";

/**
 * Writes each text as one line. We escape control characters, because text from clusters could fool
 * a terminal. Text that is already escaped stays unchanged.
 */
export const errTo =
  (write: (text: string) => void) =>
  (line: string): void =>
    write(`${escape(line)}\n`);
