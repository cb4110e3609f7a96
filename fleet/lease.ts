/** Which of several fleet controllers this one is. */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { createLeader, type Leader } from "#kube/lease/leader.ts";
import { leaseIn } from "#kube/client/paths.ts";
import { namespace } from "#contract/names.ts";
import { fleetManager } from "./guest/guest.ts";

/**
 * A place among several, by the Lease of the fleet. `end` must end the process at once: nothing may
 * be written from then on.
 */
export function standIn(cluster: Cluster, log: Logger, end: () => void) {
  const me = `${process.env["POD_NAME"] ?? hostname()}_${randomUUID().slice(0, 8)}`;
  let leads = false;
  const leader: Leader = createLeader({
    cluster,
    name: fleetManager,
    path: leaseIn(namespace, fleetManager),
    me,
    clock: () => performance.now() / 1000,
    now: () => new Date(),
    pause: async (seconds, signal) =>
      await sleep(seconds * 1000, undefined, { signal }).catch(() => {}),
    holder(name) {
      leads = name === me;
      log.info({ holder: name, me }, leads ? "this controller writes" : "standby");
    },
    failed(error) {
      if (error instanceof ApiError && error.status === 409) return;
      log.warn({ error: error.message }, "the Lease cannot be had; it is tried again");
    },
    lost(why) {
      log.error({ why, me }, "the Lease is lost: another controller may write, so this one ends");
      end();
    },
  });
  return {
    ...leader,
    leads: () => leads,
    /** While the leader is at it: a process that stood still notices it here. */
    async until(signal: AbortSignal) {
      const guard = setInterval(leader.holds, 500).unref();
      await leader.until(signal).finally(() => clearInterval(guard));
    },
  };
}
