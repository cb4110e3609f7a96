/** Which of several controllers this one is, told to log, metrics and readiness. */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { createLeader, type Leader } from "#kube/lease/leader.ts";
import { backoff } from "#kube/loop.ts";
import type { Metrics } from "./metrics/metrics.ts";

/** Where the Lease is. */
type Place = Readonly<{ cluster: Cluster; path: string }>;

/**
 * This controller's place among several: its name, its clock, and what it says of itself. `end`
 * must end the process at once: the Lease is lost, and nothing may be written from then on.
 */
export function stand({ cluster, path }: Place, metrics: Metrics, log: Logger, end: () => void) {
  const me = `${process.env["POD_NAME"] ?? hostname()}_${randomUUID().slice(0, 8)}`;
  let standby = "";
  let problem = "";
  const leader = createLeader({
    cluster,
    path,
    me,
    clock: () => performance.now() / 1000,
    now: () => new Date(),
    pause: async (seconds, signal) =>
      await sleep(seconds * 1000, undefined, { signal }).catch(() => {}),
    holder(name) {
      metrics.leader.set(name === me ? 1 : 0);
      standby = name === me ? "" : `standby: ${name} holds the Lease`;
      log.info(
        { holder: name, me },
        name === me ? "this controller writes" : "standby: another controller writes",
      );
    },
    failed(error) {
      // Another one was quicker: the next look tells which.
      if (error instanceof ApiError && error.status === 409) return;
      if (error.message !== problem)
        log.warn({ error: error.message }, "the Lease cannot be had; it is tried again");
      problem = error.message;
    },
    lost(why) {
      log.error({ why, me }, "the Lease is lost: another controller may write, so this one ends");
      end();
    },
  });
  return { leader: guarded(leader), standby: () => standby };
}

/** While the leader is at it: a process that stood still notices it here; each write asks, too. */
function guarded(leader: Leader): Leader {
  return {
    ...leader,
    async until(signal) {
      const guard = setInterval(leader.holds, 500).unref();
      await leader.until(signal).finally(() => clearInterval(guard));
    },
  };
}

/**
 * Repeats a request while the API server is away. A process that exits instead is restarted with
 * growing delays (CrashLoopBackOff).
 */
export async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await ask();
    } catch (error) {
      if (
        !(error instanceof ApiError) ||
        (error.status > 0 && error.status < 500 && error.status !== 429)
      )
        throw error;
      await sleep(backoff(failures));
    }
  }
}
