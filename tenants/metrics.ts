/** The metrics of both programs. */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { Cluster } from "#kube/client/cluster.ts";
import { warn } from "#runtime/events.ts";
import type { Meters } from "#runtime/metrics.ts";
import { apiVersion, syncManager } from "./rules/copies.ts";

export type Result = "success" | "conflict" | "error";

export type Metrics = Readonly<{
  /** Called after each reconcile. We do not reconcile an object that is known to be in sync. */
  looked: (namespace: string, result: Result, seconds: number) => void;
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
  return {
    looked(namespace, result, seconds) {
      rounds.inc({ namespace, result });
      durations.observe({ namespace }, seconds);
    },
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
