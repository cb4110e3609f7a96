/** Shows a FleetSecret as lines for people: its progress, and each cluster. */
import type { FleetSecret } from "#api/fleet-secret.ts";
import type { FleetConditionType } from "#api/fleet-reasons.ts";
import { conditionOf } from "#kube/conditions.ts";
import { columns } from "../terminal/columns.ts";
import type { Paint } from "../terminal/paint.ts";

/** The state in one line. If several conditions are True, the worst one counts. */
export function fleetHeadline(object: FleetSecret, paint: Paint): string {
  const { metadata, status } = object;
  const is = (type: FleetConditionType) => conditionOf(status, type)?.status === "True";
  const { reason = "", message = "" } = conditionOf(status, "Ready") ?? {};
  const name = `${metadata.namespace}/${metadata.name}`;
  if (status?.conditions === undefined)
    return paint.doubt(`${name}  Unknown: its controller has not reported yet; check that it runs`);
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0))
    return paint.doubt(`${name}  Reconciling: its spec is not read yet`);
  if (is("Stalled")) return paint.bad(`${name}  Stalled, ${reason}: ${message}`);
  if (is("Ready")) return paint.good(`${name}  Ready: ${message}`);
  return paint.doubt(`${name}  ${is("Reconciling") ? "Reconciling" : reason}: ${message}`);
}

export function fleetLines(object: FleetSecret, paint: Paint): string[] {
  const { spec, status } = object;
  const { namespace = "kube-system", name } = spec.target;
  const warning = conditionOf(status, "Warning");
  const warnings = warning?.status === "True" ? [paint.doubt(`Warning   ${warning.message}`)] : [];
  const clusters = status?.clusters ?? [];
  const failures = status?.failures ?? [];
  // We print failures in full above the clusters, so that users need not search for them in a
  // thousand rows.
  const listed = new Set(failures.map((one) => `${one.name} ${one.reason}: ${one.message}`));
  const rows = clusters.map(({ name: cluster, state, since, reason = "" }) => {
    return [
      cluster,
      state,
      since,
      listed.has(`${cluster} ${reason}`) ? reason.slice(0, 6) : reason,
    ];
  });
  const [head = "", ...body] = columns([["CLUSTER", "STATE", "SINCE", ""], ...rows]);
  return [
    fleetHeadline(object, paint),
    `Brings    ${spec.secretRef.name} as ${namespace}/${name}, via ${spec.via ?? "Direct"}`,
    ...warnings,
    ...failures.map((one) =>
      paint.bad(`Failed    ${one.name} since ${one.since}, ${one.reason}: ${one.message}`),
    ),
    ...(status?.givenUp ?? []).map((one) =>
      paint.doubt(`Given up  ${one.name} at ${one.since}, ${one.reason}: ${one.message}`),
    ),
    ...(rows.length === 0 ? [] : [paint.strong(head)]),
    ...body.map((line, at) => (clusters[at]?.state === "Done" ? line : paint.doubt(line))),
  ];
}
