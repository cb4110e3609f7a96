/** Lines for people, on standard error. */
import { escape } from "#pullsecret/problems/keypath.ts";

/**
 * Writes each text as one line, from which what could fool a terminal is gone: much of what is told
 * was written by other clusters. What is escaped already stays as it is.
 */
export const errTo =
  (write: (text: string) => void) =>
  (line: string): void =>
    write(`${escape(line)}\n`);
