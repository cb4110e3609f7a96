/** The metrics of both programs. */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import { collectDefaultMetrics, Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { Cluster } from "#kube/client/cluster.ts";
import { warnOf } from "#runtime/events.ts";
import { apiVersion, syncManager } from "./rules/copies.ts";

export type Result = "success" | "conflict" | "error";

export type Metrics = Readonly<{
  /** Called after each reconcile. We do not reconcile an object that is known to be in sync. */
  looked: (namespace: string, result: Result, seconds: number) => void;
}>;

export function createMetrics(registry: Registry): Metrics {
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const rounds = new Counter({
    name: "global_pull_secret_sync_secret_reconcile_total",
    help: "Reconciles of a SyncSecret by its namespace and by result",
    labelNames: ["namespace", "result"],
    registers,
  });
  const durations = new Histogram({
    name: "global_pull_secret_sync_secret_reconcile_duration_seconds",
    help: "Duration of a reconcile, including failed reconciles",
    labelNames: ["namespace"],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 30],
    registers,
  });
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
export function createAlarm(cluster: Cluster, registry: Registry) {
  const counter = new Counter({
    name: "global_pull_secret_sync_left_behind_total",
    help: "SyncSecret deletions that a deadline ended and that may have left objects, by namespace",
    labelNames: ["namespace"],
    registers: [registry],
  });
  return async (metadata: V1ObjectMeta, message: string): Promise<void> => {
    counter.inc({ namespace: metadata.namespace ?? "" });
    await warnOf(cluster, {
      component: syncManager,
      apiVersion,
      kind: "SyncSecret",
      metadata,
      reason: "LeftBehind",
      message,
    });
  };
}

/** Sets the metric with the time at which the tenant's token expires. */
export function createExpiry(registry: Registry): (seconds: number) => void {
  const gauge = new Gauge({
    name: "global_pull_secret_sync_token_expiry_timestamp_seconds",
    help: "When the token for the management cluster ends, in seconds since 1970; 0: unknown",
    registers: [registry],
  });
  return (seconds) => gauge.set(seconds);
}
