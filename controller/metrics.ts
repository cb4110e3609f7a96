/** What Prometheus sees. No label names a registry, a node or anything else that grows with the cluster. */
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  const prefix = "global_pull_secret_";
  collectDefaultMetrics({ register: registry });
  return {
    registry,
    requests: new Counter({
      name: `${prefix}api_requests_total`,
      help: "Requests to the API server by method and status; status 0 is no answer",
      labelNames: ["method", "status"],
      registers,
    }),
    reconciles: new Counter({
      name: `${prefix}reconcile_total`,
      help: "Reconciles by result",
      labelNames: ["result"],
      registers,
    }),
    seconds: new Histogram({
      name: `${prefix}reconcile_duration_seconds`,
      help: "Duration of a reconcile",
      buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 30],
      registers,
    }),
    events: new Counter({
      name: `${prefix}events_total`,
      help: "Events sent by reason",
      labelNames: ["reason"],
      registers,
    }),
    accepted: new Gauge({
      name: `${prefix}source_accepted`,
      help: "1 when the source is in order, 0 when its last good entries stand in for it",
      labelNames: ["source"],
      registers,
    }),
    revision: new Gauge({
      name: `${prefix}revision`,
      help: "Revision of global-pull-secret; 0 when there is none",
      registers,
    }),
    rolledOut: new Gauge({
      name: `${prefix}rolled_out`,
      help: "1 when every node that lives has the revision",
      registers,
    }),
    nodes: new Gauge({
      name: `${prefix}nodes`,
      help: "Nodes by state: desired, updated, available, and after a survey dead, failed, stuck",
      labelNames: ["state"],
      registers,
    }),
  };
}
