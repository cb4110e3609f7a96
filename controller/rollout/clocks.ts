/**
 * How long something has been as it is, as far as this process has seen. `seconds`, here and
 * elsewhere: a clock that never goes back, in seconds.
 */
import type { DaemonSetState } from "#controller/rollout/turn/turn.ts";

/**
 * Seconds since the DaemonSet's counters last changed. A restart forgets it, which only makes the
 * next survey later.
 */
export function stallClock(seconds: () => number): (daemonSetState: DaemonSetState) => number {
  let key = "";
  let since = 0;
  return ({ template, stage, maxUnavailable, desired, updated, available, observed }) => {
    const seen = [template, stage, maxUnavailable, desired, updated, available, observed].join("/");
    if (seen !== key) {
      key = seen;
      since = seconds();
    }
    return seconds() - since;
  };
}

/**
 * Seconds since we last saw more agents Ready, or another template. Measured by our own clock,
 * whatever time the nodes' kubelets give for it.
 */
export function readyClock(seconds: () => number): (daemonSetState: DaemonSetState) => number {
  let last = { template: -1, ready: 0 };
  let since = 0;
  return ({ template, ready }) => {
    if (template !== last.template || ready > last.ready) since = seconds();
    last = { template, ready };
    return seconds() - since;
  };
}

/**
 * Seconds without an answer after which nodes may have been missed: a kubelet renews its Lease
 * every 10 s, and node controllers wait for 40 s at least (--node-monitor-grace-period).
 */
const missedSeconds = 30;
/** Seconds without an answer after which the controller before this one ended (kube/lease). */
const endedSeconds = 10;

export type AbsenceClock = Readonly<{
  /** Takes the status of an answer of the API server; 0 where none came. */
  answered: (status: number) => void;
  /**
   * Seconds since the API server came back from an absence in which nodes may have been missed; 0
   * during one, infinite where there was none. One that was under way when this process began is
   * taken for the one that ended its predecessor.
   */
  backSeconds: () => number;
}>;

export function absenceClock(seconds: () => number): AbsenceClock {
  // From the first to the last request without an answer: a time without requests is no absence.
  let away: { first: number; last: number } | undefined;
  let back = Number.NEGATIVE_INFINITY;
  let begun = false;
  const isLong = () => away !== undefined && away.last - away.first >= missedSeconds;
  return {
    answered(status) {
      const now = seconds();
      if (status === 0)
        away = { first: away?.first ?? now - (begun ? 0 : endedSeconds), last: now };
      // 5xx tells nothing: it may be of one webhook, or of a store that is away.
      else if (status < 500) {
        if (isLong()) back = now;
        away = undefined;
      }
      begun = true;
    },
    backSeconds: () => (isLong() ? 0 : seconds() - back),
  };
}
