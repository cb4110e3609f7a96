/** Keeps a lasting problem visible in the log without filling the log. */

const minute = 60_000;

/**
 * True at once for a reason, and then once a minute for as long as it is reported. Several reasons,
 * such as two kinds of requests in turn, are counted separately.
 */
export function reminder(clock: () => number = () => performance.now()): (why: string) => boolean {
  const last = new Map<string, number>();
  return (why) => {
    const now = clock();
    if (now - (last.get(why) ?? Number.NEGATIVE_INFINITY) < minute) return false;
    // Older entries are due again anyway.
    for (const [one, time] of last) if (now - time >= minute) last.delete(one);
    last.set(why, now);
    return true;
  };
}
