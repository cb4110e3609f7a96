/**
 * How a process takes part in the election among the processes of its program: its identity, its
 * clock, and the holder of the Lease.
 */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { reminder } from "./reminder.ts";
import { createLeader, type Leader } from "./leader.ts";

/** The cluster and path of the Lease. */
type Place = Readonly<{ cluster: Cluster; path: string }>;

/**
 * Takes part in the election. `end` is called when the Lease is lost. `end` must end the process at
 * once, because from then on this process is not allowed to write. `changed` is called whenever the
 * holder changes. Its argument is true if this process leads.
 */
export function joinElection(
  place: Place,
  log: Logger,
  end: () => void,
  changed: (leads: boolean) => void,
) {
  const me = `${process.env["POD_NAME"] ?? hostname()}_${randomUUID().slice(0, 8)}`;
  let standby = "";
  const due = reminder();
  const leader = createLeader({
    ...place,
    me,
    clock: () => performance.now() / 1000,
    now: () => new Date(),
    pause: async (seconds, signal) =>
      await sleep(seconds * 1000, undefined, { signal }).catch(() => {}),
    holder(name) {
      const leads = name === me;
      standby = leads ? "" : `standby: ${name} holds the Lease`;
      changed(leads);
      const reason = leads ? "this controller writes" : "standby: another controller writes";
      log.info({ holder: name, me }, reason);
    },
    failed(error) {
      // Another process took the Lease first. The next check shows which process.
      if (error instanceof ApiError && error.status === 409) return;
      if (due(error.message))
        log.warn({ error: error.message }, "cannot take the Lease; trying again");
    },
    lost(why) {
      log.error({ why, me }, "the Lease is lost: another controller may write, so this one ends");
      end();
    },
  });
  return { leader: guarded(leader), standby: () => standby };
}

/**
 * Checks the Lease twice a second while the leader runs, so that a process that was suspended ends
 * even if it writes nothing. Each write checks the Lease, too.
 */
function guarded(leader: Leader): Leader {
  return {
    ...leader,
    async until(signal) {
      const guard = setInterval(leader.holds, 500).unref();
      await leader.until(signal).finally(() => clearInterval(guard));
    },
  };
}
