/**
 * The Prometheus metrics. No label contains a registry, a node or anything else that grows with the
 * cluster.
 */
import { openMeters } from "#runtime/metrics.ts";
import manifest from "../../package.json" with { type: "json" };

export type ControllerMetrics = ReturnType<typeof createMetrics>;

export function createMetrics(meters = openMeters()) {
  const { registry, counter, durations } = meters;
  const gauge: typeof meters.gauge = (name, help, labels) => {
    const newGauge = meters.gauge(name, help, labels);
    // A gauge without labels begins at 0. It must be absent until its value is known.
    if (labels === undefined) newGauge.remove();
    return newGauge;
  };
  gauge("build_info", "1; the version in its label", ["version"]).set(
    { version: manifest.version },
    1,
  );
  return {
    registry,
    leader: meters.gauge(
      "leader",
      "1 while this controller holds the Lease, 0 while it is on standby",
    ),
    requests: counter(
      "api_requests_total",
      "Requests to the API server by method and status; status 0: no answer",
      ["method", "status"],
    ),
    reconciles: counter(
      "reconcile_total",
      "Reconciles by result: ok, conflict (another client wrote first, retried) or error",
      ["result"],
    ),
    seconds: durations(
      "reconcile_duration_seconds",
      "Duration of a reconcile, including failed ones",
    ),
    lastSuccess: gauge(
      "last_success_timestamp_seconds",
      "When the last successful reconcile ended",
    ),
    events: counter("events_total", "Events sent, by reason", ["reason"]),
    eventsDropped: counter(
      "events_dropped_total",
      "Events dropped, because the cluster refuses them or too many wait",
    ),
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
    verified: gauge(
      "registries",
      "Registries by their last answer about the credential: Accepted, Denied or Unknown",
      ["answer"],
    ),
    troubles: gauge("trouble", "1 while the trouble with this Event reason lasts", ["reason"]),
    revision: gauge("revision", "Revision of global-pull-secret; 0 when there is none"),
    rolledOut: gauge("rolled_out", "1 while the revision is in force on the nodes"),
    nodes: gauge("nodes", "Nodes that have the revision, or by the reason why not", ["state"]),
  };
}
