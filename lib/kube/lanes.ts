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
