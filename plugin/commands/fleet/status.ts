/** `fleet status`: shows the progress of FleetSecrets' clusters. */
import { namespace as standard } from "#contract/names.ts";
import type { Table } from "#contract/table.ts";
import { Wrong } from "#contract/values.ts";
import type { FleetSecret } from "#api/fleet-secret.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { fleetSecretsIn } from "#kube/client/paths.ts";
import { clusterFlags } from "#plugin/cluster/flags.ts";
import { listOf, withoutFields } from "#plugin/cluster/read.ts";
import { clusterName } from "#plugin/clusters/profile.ts";
import { command } from "#plugin/terminal/command.ts";
import { Refused } from "#plugin/terminal/io.ts";
import { outputFlag, print, table } from "#plugin/terminal/output.ts";
import { paintFor, type Paint } from "#plugin/terminal/paint.ts";
import type { FleetConditionType } from "#api/fleet-reasons.ts";
import { conditionOf } from "#kube/conditions.ts";

/** A DNS label. The name becomes part of a path, so we accept nothing else. */
const label = (value: string): string | Wrong =>
  clusterName.test(value)
    ? value
    : new Wrong("is not a valid namespace name (example: kube-system)");

const flags = {
  ...outputFlag,
  ...clusterFlags,
  namespace: { read: label, standard, short: "n", what: "where the FleetSecrets are" },
} as const satisfies Table;

export const status = command(
  {
    group: "fleet",
    what: "show the FleetSecrets, and the progress of each of their clusters",
    example: "",
    more: "Reads only the FleetSecrets of a namespace, which it prints as a list with -o json or yaml.",
    flags,
  },
  async ({ namespace, output, ...how }, io) => {
    const paint = paintFor(io.colour);
    const lines = (all: readonly FleetSecret[]) =>
      all.length === 0
        ? ["there is no FleetSecret"]
        : all.flatMap((fleetSecret) => fleetLines(fleetSecret, paint));
    await print(output, await read(await io.reach(how), namespace), lines, io);
    return 0;
  },
);

async function read(cluster: Cluster, namespace: string): Promise<FleetSecret[]> {
  try {
    const all = await listOf<FleetSecret>(cluster, fleetSecretsIn(namespace));
    return all.map(withoutFields);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    throw new Refused("fleetsecrets: not served; apply manifests/fleet here");
  }
}

/** The state in one line. If several conditions are True, the worst one counts. */
function fleetHeadline(object: FleetSecret, paint: Paint): string {
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

function fleetLines(object: FleetSecret, paint: Paint): string[] {
  const { spec, status } = object;
  const { namespace = "kube-system", name } = spec.target;
  const warning = conditionOf(status, "Warning");
  const warnings = warning?.status === "True" ? [paint.doubt(`Warning   ${warning.message}`)] : [];
  const clusters = status?.clusters ?? [];
  const failures = status?.failures ?? [];
  // We print failures in full above the clusters, so that users need not search for them in a
  // thousand rows.
  const listed = new Set(
    failures.map((failure) => `${failure.name} ${failure.reason}: ${failure.message}`),
  );
  const rows = clusters.map(({ name: cluster, state, since, reason = "" }) => {
    const why = listed.has(`${cluster} ${reason}`) ? reason.slice(0, 6) : reason;
    return { isGood: state === "Done", cells: [cluster, state, since, why] };
  });
  return [
    fleetHeadline(object, paint),
    `Brings    ${spec.secretRef.name} as ${namespace}/${name}, via ${spec.via ?? "Direct"}`,
    ...warnings,
    ...failures.map((failure) =>
      paint.bad(
        `Failed    ${failure.name} since ${failure.since}, ${failure.reason}: ${failure.message}`,
      ),
    ),
    ...(status?.givenUp ?? []).map((cluster) =>
      paint.doubt(
        `Given up  ${cluster.name} at ${cluster.since}, ${cluster.reason}: ${cluster.message}`,
      ),
    ),
    ...(rows.length === 0 ? [] : table(["CLUSTER", "STATE", "SINCE", ""], rows, paint)),
  ];
}
