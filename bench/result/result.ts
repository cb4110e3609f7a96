/** One figure, its baseline, and its goal. */
import { spread } from "./rounds.ts";

/** `ratio`: the value divided by the baseline of the same run. */
type Goal = Readonly<{ of: "ratio" | "value"; atMost: number }>;

export type BenchResult = Readonly<{
  name: string;
  value: number;
  unit: string;
  /** Name of the baseline; absent if there is none. */
  against?: string;
  baseline?: number;
  ratio?: number;
  /** Smallest and largest ratio of all rounds; without a baseline, smallest and largest value. */
  range?: readonly [number, number];
  rounds: number;
  goal?: Goal;
}>;

type Compared = Readonly<{ name: string; unit: string; against: string; atMost?: number }>;

/**
 * Medians of value and baseline. The ratio is the median of the rounds' ratios. A round measures
 * the value, and then immediately the baseline.
 */
export function compare(
  about: Compared,
  pairs: readonly (readonly [value: number, baseline: number])[],
): BenchResult {
  const ratio = spread(pairs.map(([value, baseline]) => value / baseline));
  const { name, unit, against, atMost } = about;
  return {
    name,
    value: spread(pairs.map(([value]) => value)).median,
    unit,
    against,
    baseline: spread(pairs.map(([, baseline]) => baseline)).median,
    ratio: ratio.median,
    range: [ratio.least, ratio.most],
    rounds: ratio.rounds,
    ...(atMost !== undefined && { goal: { of: "ratio", atMost } }),
  };
}

/** A figure without a baseline: the median of the rounds. */
export function measure(
  about: Readonly<{ name: string; unit: string; atMost?: number }>,
  values: readonly number[],
): BenchResult {
  const { median, least, most, rounds } = spread(values);
  const { name, unit, atMost } = about;
  const goal: Goal | undefined = atMost === undefined ? undefined : { of: "value", atMost };
  return { name, value: median, unit, range: [least, most], rounds, ...(goal && { goal }) };
}

/** Undefined if there is no goal. */
export function isMet({ value, ratio, goal }: BenchResult): boolean | undefined {
  if (goal === undefined) return undefined;
  const judged = goal.of === "ratio" ? ratio : value;
  return judged !== undefined && judged <= goal.atMost;
}

/**
 * The exit code of a run: 0 if every goal is met, 1 if a goal is missed or a measurement failed.
 * `missed`: a line with the names of the missed goals; empty if there are none.
 */
export function verdict(
  results: readonly BenchResult[],
  failed: number,
): Readonly<{ code: 0 | 1; missed: string }> {
  const missed = results.filter((result) => isMet(result) === false).map(({ name }) => name);
  return {
    code: failed + missed.length > 0 ? 1 : 0,
    missed: missed.length === 0 ? "" : `goals missed: ${missed.join(", ")}\n`,
  };
}
