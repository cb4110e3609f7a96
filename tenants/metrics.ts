/** The metrics of both programs. */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { Cluster } from "#kube/client/cluster.ts";
import { warn } from "#runtime/events.ts";
import type { Excess } from "#kube/watch/others.ts";
import type { Meters } from "#runtime/metrics.ts";
import { apiVersion, syncManager } from "./rules/copies.ts";

export type Result = "success" | "conflict" | "error";

export type Metrics = Readonly<{
  /** Called after each reconcile. We do not reconcile an object that is known to be in sync. */
  looked: (namespace: string, result: Result, seconds: number) => void;
  /**
   * Called after each run over all objects. `namespace`: the tenant's, in the management cluster.
   */
  ran: (namespace: string, isSuccess: boolean) => void;
  /** Called when a namespace is no longer served. */
  ended: (namespace: string) => void;
}>;

export function createMetrics(meters: Meters): Metrics {
  const rounds = meters.counter(
    "sync_secret_reconcile_total",
    "Reconciles of a SyncSecret by its namespace and by result",
    ["namespace", "result"],
  );
  const durations = meters.durations(
    "sync_secret_reconcile_duration_seconds",
    "Duration of a reconcile, including failed reconciles",
    ["namespace"],
  );
  const runs = meters.counter(
    "sync_runs_total",
    "Runs over all SyncSecrets of a tenant, by its namespace in the management cluster and by result",
    ["namespace", "result"],
  );
  const succeeded = meters.gauge(
    "sync_last_success_timestamp_seconds",
    "When a run last read both clusters, in seconds since 1970 (0: never), by the tenant's namespace in the management cluster",
    ["namespace"],
  );
  return {
    ran(namespace, isSuccess) {
      runs.inc({ namespace, result: isSuccess ? "success" : "error" });
      if (isSuccess) succeeded.set({ namespace }, Date.now() / 1000);
      // Without a series, no alert would tell that a new process has never succeeded.
      else succeeded.inc({ namespace }, 0);
    },
    ended: (namespace) => succeeded.remove({ namespace }),
    looked(namespace, result, seconds) {
      rounds.inc({ namespace, result });
      durations.observe({ namespace }, seconds);
    },
  };
}

/** Reports what a side leaves out: in a metric, and an object that is too large in an Event. */
export function createExcess(cluster: Cluster, meters: Meters) {
  const counter = meters.counter(
    "sync_left_out_total",
    "Objects, or parts of a collection, that are too large, too many or too fast, by namespace",
    ["namespace", "excess"],
  );
  return (namespace: string) =>
    async (excess: Excess, message: string): Promise<void> => {
      counter.inc({ namespace, excess: excess.is });
      if (excess.is !== "large") return;
      const about = { apiVersion, kind: "SyncSecret", metadata: { namespace, name: excess.name } };
      await warn(cluster, syncManager, about, { reason: "LeftOut", message });
    };
}

/**
 * Reports a deletion that we gave up at the deadline: in a metric, and in an Event on the object.
 */
export function createAlarm(cluster: Cluster, meters: Meters) {
  const counter = meters.counter(
    "sync_left_behind_total",
    "SyncSecret deletions that a deadline ended and that may have left objects, by namespace",
    ["namespace"],
  );
  return async (metadata: V1ObjectMeta, message: string): Promise<void> => {
    counter.inc({ namespace: metadata.namespace ?? "" });
    const about = { apiVersion, kind: "SyncSecret", metadata };
    await warn(cluster, syncManager, about, { reason: "LeftBehind", message });
  };
}

/** Sets the metric with the time at which the tenant's token expires. */
export function createExpiry(meters: Meters): (seconds: number) => void {
  const gauge = meters.gauge(
    "sync_token_expiry_timestamp_seconds",
    "When the token for the management cluster ends, in seconds since 1970; 0: unknown",
  );
  return (seconds) => gauge.set(seconds);
}
