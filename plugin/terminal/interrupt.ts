/** Turns Ctrl-C into an AbortSignal. */
import type { EventEmitter } from "node:events";

/**
 * Returns a function that provides a signal. The signal aborts on the first interrupt of the
 * process. The second interrupt ends the process. If no code has called the function, even the
 * first interrupt ends the process.
 */
export function interruptOf(source: Pick<EventEmitter, "once">): () => AbortSignal {
  let ends: AbortController | undefined;
  return () => {
    if (ends !== undefined) return ends.signal;
    const made = (ends = new AbortController());
    source.once("SIGINT", () => made.abort());
    return made.signal;
  };
}
