/** Keeps a trouble that lasts visible in the log without filling it. */

const minute = 60_000;

/**
 * True at once for a reason, and then once a minute for as long as it is reported. Several reasons
 * in turn, as of two kinds of request, count each by itself.
 */
export function reminder(clock: () => number = () => performance.now()): (why: string) => boolean {
  const last = new Map<string, number>();
  return (why) => {
    const now = clock();
    if (now - (last.get(why) ?? Number.NEGATIVE_INFINITY) < minute) return false;
    // What is older is due again anyway.
    for (const [one, time] of last) if (now - time >= minute) last.delete(one);
    last.set(why, now);
    return true;
  };
}
