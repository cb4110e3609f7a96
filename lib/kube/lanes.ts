/** Works on many items, a limited number at a time. */

/**
 * Calls `work` with each item, at most `lanes` at a time, in their order. Rejects as soon as one
 * call rejects; no further call begins then.
 */
export async function inLanes<T>(
  all: readonly T[],
  lanes: number,
  work: (job: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  let failed = false;
  const lane = async (): Promise<void> => {
    while (next < all.length && !failed) {
      const job = all[next] as T;
      next += 1;
      try {
        await work(job);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(lanes, all.length) }, lane));
}

/** Lets a limited number of jobs run at a time. The others wait in the order of their calls. */
export class Gate {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(most: number) {
    this.#free = most;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
