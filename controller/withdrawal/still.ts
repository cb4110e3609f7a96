/**
 * How long something has stood still. Lost at a restart, which only makes whatever waits for it
 * later.
 */
export function stillClock(now: () => Date): (key: string) => number {
  let seen: string | undefined;
  let since = 0;
  return (key) => {
    if (key !== seen) [seen, since] = [key, now().getTime()];
    return (now().getTime() - since) / 1000;
  };
}
