/**
 * Samples of a matrix whose points are test cases. A test runs a few points, spread over the matrix
 * and chosen by a seed (`SEED=n` repeats them). With EVERY_POINT=1, which `npm run test:all` sets,
 * the test runs all points.
 */
import { test, type TestContext } from "node:test";

export const everyPoint = process.env["EVERY_POINT"] !== undefined;

/** A test that takes too long for every change. Only `npm run test:all` runs it. */
export function longTest(name: string, run: (t: TestContext) => Promise<void>): void {
  if (everyPoint) void test(name, run);
}

/**
 * All tests of a file use this seed, so that one number repeats all their choices. The seed can be
 * negative.
 */
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
