/** Keeps a lasting problem visible in the log without filling the log. */

const minute = 60_000;

/**
 * Returns a function that is true when a reason is first reported, and then once a minute as long
 * as the reason is reported. Each reason is counted separately.
 */
export function reminder(): (why: string) => boolean {
  const last = new Map<string, number>();
  return (why) => {
    const now = performance.now();
    if (now - (last.get(why) ?? Number.NEGATIVE_INFINITY) < minute) return false;
    // Deletes entries that are older than a minute. Their reasons are due again anyway.
    for (const [reason, time] of last) if (now - time >= minute) last.delete(reason);
    last.set(why, now);
    return true;
  };
}
