/** Runs histories, and describes the first that breaks a law. */
import { Broken } from "./laws.ts";
import { History } from "./history.ts";

export type Failure = Readonly<{ seed: number; why: string; trace: readonly string[] }>;

/** Runs histories with `count` seeds from `first` on. Returns the failures. */
export function runHistories(first: number, count: number, isWithProvider: boolean): Failure[] {
  const failures: Failure[] = [];
  for (let seed = first; seed < first + count; seed += 1) {
    const history = new History(seed, isWithProvider);
    try {
      history.run();
    } catch (error) {
      const { message, stack = message } = error as Error;
      const why = error instanceof Broken ? message : stack;
      failures.push({ seed, why, trace: history.node.trace });
    }
  }
  return failures;
}

/** The text of a failure, for a person. */
export function describe({ seed, why, trace }: Failure): string {
  return [`seed ${seed}: ${why}`, ...trace.slice(-80)].join("\n");
}
