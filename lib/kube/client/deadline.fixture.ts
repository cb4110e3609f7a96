/** For tests: deadlines of requests that pass without real time. */
import type { TestContext } from "node:test";

/**
 * Stops the deadlines of all requests that begin from now on. `begun`: how many requests there are.
 * `pass`: ends each request that may take at most that many milliseconds, and returns their number.
 */
export function mockDeadlines(t: TestContext) {
  const deadlines: (readonly [milliseconds: number, end: AbortController])[] = [];
  t.mock.method(AbortSignal, "timeout", (milliseconds: number) => {
    const end = new AbortController();
    deadlines.push([milliseconds, end]);
    return end.signal;
  });
  return {
    begun: () => deadlines.length,
    pass(milliseconds: number): number {
      const due = deadlines.filter(([most]) => most <= milliseconds);
      for (const [, end] of due) end.abort(new DOMException("late", "TimeoutError"));
      return due.length;
    },
  };
}
