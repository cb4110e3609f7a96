/**
 * Samples of a matrix. A test takes a few points, spread over all points and chosen by a seed
 * (`SEED=n` repeats them). With EVERY_POINT=1, which `npm run test:all` sets, it takes all points.
 */
import { test, type TestContext } from "node:test";

export const everyPoint = process.env["EVERY_POINT"] !== undefined;

/** A test that takes too long for every change. Only `npm run test:all` runs it. */
export function longTest(name: string, run: (t: TestContext) => Promise<void>): void {
  if (everyPoint) void test(name, run);
}

/**
 * One seed for all tests of a file, so that one number repeats all their choices. The seed may be
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
