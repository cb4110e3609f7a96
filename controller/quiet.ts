/** How long the DaemonSet's counters have stood still. Lost at a restart, which only makes the next survey later. */
import type { DaemonSetView } from "./rollout.ts";

export function quietClock(now: () => Date): (view: DaemonSetView) => number {
  let key = "";
  let since = 0;
  return ({ template, stage, maxUnavailable, desired, updated, available, observed }) => {
    const seen = [template, stage, maxUnavailable, desired, updated, available, observed].join("/");
    if (seen !== key) {
      key = seen;
      since = now().getTime();
    }
    return (now().getTime() - since) / 1000;
  };
}
