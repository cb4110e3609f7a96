/** Rounds of a comparison: both sides in turn, so that other load on the machine affects both. */

export type Spread = Readonly<{ median: number; least: number; most: number; rounds: number }>;

/** Median and range. With two middle values, the median is their mean. Throws without values. */
export function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const [least, most] = [sorted[0], sorted.at(-1)];
  if (least === undefined || most === undefined)
    throw new Error("a median needs at least one value");
  const half = sorted.length / 2;
  const upper = sorted[Math.floor(half)] ?? most;
  const lower = sorted[Math.ceil(half) - 1] ?? least;
  return { median: (lower + upper) / 2, least, most, rounds: sorted.length };
}

/** Runs two sides in turn, A B A B …, and returns their results. */
export async function interleave<A, B>(
  rounds: number,
  a: (round: number) => Promise<A>,
  b: (round: number) => Promise<B>,
): Promise<readonly (readonly [A, B])[]> {
  const pairs: (readonly [A, B])[] = [];
  for (let round = 0; round < rounds; round++) {
    const first = await a(round);
    pairs.push([first, await b(round)]);
  }
  return pairs;
}
