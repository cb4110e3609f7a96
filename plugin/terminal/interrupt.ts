/** Ctrl-C as an AbortSignal. */
import type { EventEmitter } from "node:events";

/**
 * Gives the signal that aborts on the first interrupt of the process: one, made when it is asked
 * for. A process in which nobody asks is simply ended by an interrupt, and every one by the second.
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
