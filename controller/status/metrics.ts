/**
 * The Prometheus metrics. No label contains a registry, a node or anything else that grows with the
 * cluster.
 */
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";
import { namespace } from "#contract/names.ts";
import manifest from "../../package.json" with { type: "json" };

export type ControllerMetrics = ReturnType<typeof createMetrics>;

export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  const prefix = "global_pull_secret_";
  collectDefaultMetrics({ register: registry });
  const gauge = <Label extends string = never>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
  ) => {
    const made = new Gauge<Label>({
      name: prefix + name,
      help,
      labelNames: [...labelNames],
      registers,
    });
    // A gauge without labels begins at 0. It must be absent until its value is known.
    if (labelNames.length === 0) made.remove();
    return made;
  };
  gauge("build_info", "1; the version in its label", ["version"]).set(
    { version: manifest.version },
    1,
  );
  return {
    registry,
    leader: new Gauge({
      name: `${prefix}leader`,
      help: "1 while this controller holds the Lease, 0 while it is on standby",
      registers,
    }),
    requests: new Counter({
      name: `${prefix}api_requests_total`,
      help: "Requests to the API server by method and status; status 0: no answer",
      labelNames: ["method", "status"],
      registers,
    }),
    reconciles: new Counter({
      name: `${prefix}reconcile_total`,
      help: "Reconciles by result: ok, conflict (another client wrote first, retried) or error",
      labelNames: ["namespace", "result"],
      registers,
    }),
    seconds: new Histogram({
      name: `${prefix}reconcile_duration_seconds`,
      help: "Duration of a reconcile, including failed ones",
      labelNames: ["namespace"],
      buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 30],
      registers,
    }),
    lastSuccess: gauge(
      "last_success_timestamp_seconds",
      "When the last successful reconcile ended",
    ),
    events: new Counter({
      name: `${prefix}events_total`,
      help: "Events sent, by reason",
      labelNames: ["reason"],
      registers,
    }),
    eventsDropped: new Counter({
      name: `${prefix}events_dropped_total`,
      help: "Events dropped, because the cluster refuses them or too many wait",
      registers,
    }),
    accepted: gauge(
      "source_accepted",
      "1 when the source is accepted, 0 when its last accepted entries are used instead",
      ["source"],
    ),
    expiry: gauge(
      "credential_expiry_timestamp_seconds",
      "When the first credential of the source expires, if its expiry is known",
      ["source"],
    ),
    troubles: gauge("trouble", "1 while the trouble with this Event reason lasts", ["reason"]),
    revision: gauge("revision", "Revision of global-pull-secret; 0 when there is none"),
    rolledOut: gauge("rolled_out", "1 when every node that can be served has had the revision"),
    desired: gauge("nodes_desired", "Nodes that should have an agent"),
    updated: gauge("nodes_updated", "Nodes that have proved the revision"),
    available: gauge("nodes_available", "Nodes whose agent is available"),
    nodes: gauge("nodes", "Agents' pods by the state of the revision on their nodes", ["state"]),
  };
}

/** Labels of all namespaced metrics. */
export const labels = { namespace } as const;
