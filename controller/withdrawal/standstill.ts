/**
 * How long something has stood still. A restart forgets it, which only delays whatever depends on
 * it.
 */
export function stillClock(seconds: () => number): (key: string) => number {
  let seen: string | undefined;
  let since = 0;
  return (key) => {
    if (key !== seen) [seen, since] = [key, seconds()];
    return seconds() - since;
  };
}
