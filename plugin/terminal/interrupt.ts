/** Ctrl-C as an AbortSignal. */
import type { EventEmitter } from "node:events";

/**
 * Provides the signal that aborts on the first interrupt of the process. It is created on first
 * use. If no code has requested the signal, an interrupt ends the process. A second interrupt
 * always ends it.
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
