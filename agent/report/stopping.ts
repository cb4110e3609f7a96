/**
 * Handles the signals that end the agent. main.ts imports this file first, so that no signal is
 * lost while the other files load. As process 1, Node ignores signals that have no handler. The pod
 * would end only after its grace period.
 */
export const stopping = new AbortController();

for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => stopping.abort());
