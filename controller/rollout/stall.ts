/**
 * How long the DaemonSet's counters have not changed. A restart forgets it, which only makes the
 * next survey later.
 */
import type { DaemonSetState } from "#controller/rollout/turn/turn.ts";

export function stallClock(now: () => Date): (daemonSetState: DaemonSetState) => number {
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

/**
 * Seconds since we last saw more agents Ready, or another template. Measured by our own clock,
 * whatever time the nodes' kubelets give for it.
 */
export function readyClock(now: () => Date): (daemonSetState: DaemonSetState) => number {
  let last = { template: -1, ready: 0 };
  let since = 0;
  return ({ template, ready }) => {
    if (template !== last.template || ready > last.ready) since = now().getTime();
    last = { template, ready };
    return (now().getTime() - since) / 1000;
  };
}
