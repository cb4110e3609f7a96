/** The metrics of both programs. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, type Registry } from "prom-client";

export type Result = "success" | "conflict" | "error";

export type Metrics = Readonly<{
  /** Called after each reconcile. An object that is known to be in sync is not reconciled. */
  looked: (namespace: string, result: Result, seconds: number) => void;
}>;

export function createMetrics(registry: Registry): Metrics {
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const looks = new Counter({
    name: "global_pull_secret_sync_secret_reconcile_total",
    help: "Reconciles of a SyncSecret by the namespace that it is in, and by result",
    labelNames: ["namespace", "result"],
    registers,
  });
  const durations = new Histogram({
    name: "global_pull_secret_sync_secret_reconcile_duration_seconds",
    help: "Duration of such a reconcile, failed ones included",
    labelNames: ["namespace"],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 30],
    registers,
  });
  return {
    looked(namespace, result, seconds) {
      looks.inc({ namespace, result });
      durations.observe({ namespace }, seconds);
    },
  };
}

/** When the tenant's token for the management cluster ends. */
export function createExpiry(registry: Registry): (seconds: number) => void {
  const gauge = new Gauge({
    name: "global_pull_secret_sync_token_expiry_timestamp_seconds",
    help: "When the token for the management cluster ends, in seconds since 1970; 0: not known",
    registers: [registry],
  });
  return (seconds) => gauge.set(seconds);
}
