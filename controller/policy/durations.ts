/** Durations as Go writes them, which GlobalPullSecret's spec holds, in whole seconds. */
import { Wrong } from "#contract/values.ts";

const seconds = { h: 3600, m: 60, s: 1 } as const;

/**
 * Seconds of `5s`, `10m` or `1h30m0s`. The API server checks the bounds (manifests/crds); whatever
 * it let in is used.
 */
export function secondsOf(text: string): number | Wrong {
  const parts = /^(?:(\d{1,5})h)?(?:(\d{1,5})m)?(?:(\d{1,7})s)?$/.exec(text);
  if (parts === null || text === "") return new Wrong("is no duration; give one such as 10m");
  const [, h = 0, m = 0, s = 0] = parts;
  return Number(h) * seconds.h + Number(m) * seconds.m + Number(s) * seconds.s;
}
