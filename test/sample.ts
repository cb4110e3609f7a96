/**
 * Points of a matrix: a test takes a few of them, spread over all, beginning where the seed says
 * (`SEED=n` repeats them). With EVERY_POINT=1, which `npm run test:all` sets, it takes all of them.
 */
import { test, type TestContext } from "node:test";

export const everyPoint = process.env["EVERY_POINT"] !== undefined;

/** A test for which no change should wait: only `npm run test:all` runs it. */
export function longTest(name: string, run: (t: TestContext) => Promise<void>): void {
  if (everyPoint) void test(name, run);
}

/** One for all tests of a file: one number repeats them. Negative where a law printed it. */
const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);

export function sample<T>(t: TestContext, all: readonly T[], count: number): readonly T[] {
  if (everyPoint || count >= all.length) return all;
  t.diagnostic(`SEED=${seed}`);
  const step = all.length / count;
  return Array.from(
    { length: count },
    (_, index) => all[(Math.abs(seed) + Math.floor(index * step)) % all.length] as T,
  );
}
