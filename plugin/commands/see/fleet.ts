/** `fleet`: shows the progress of a FleetSecret's clusters, once or until you interrupt it. */
import { namespace as standard } from "#contract/names.ts";
import type { Table } from "#contract/table.ts";
import { toggle, Wrong } from "#contract/values.ts";
import type { FleetSecret } from "#api/fleet-secret.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { watchCollection } from "#kube/watch/collection.ts";
import { fleetSecretsIn } from "#kube/client/paths.ts";
import { clusterFlags } from "#plugin/cluster/flags.ts";
import { fleetHeadline, fleetLines } from "#plugin/show/fleet.ts";
import { command } from "#plugin/terminal/command.ts";
import { Refused } from "#plugin/terminal/io.ts";
import { home, outputFlag, print } from "#plugin/terminal/output.ts";
import { paintFor } from "#plugin/terminal/paint.ts";

/** A DNS label. The name becomes part of a path, so we accept nothing else. */
const label = (value: string): string | Wrong =>
  /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(value)
    ? value
    : new Wrong("is not a valid namespace name (example: kube-system)");

const flags = {
  watch: { ...toggle, short: "w", what: "keep showing changes" },
  ...outputFlag,
  ...clusterFlags,
  namespace: { read: label, standard, short: "n", what: "where the FleetSecrets are" },
} as const satisfies Table;

export const fleet = command(
  {
    group: "see",
    what: "show the FleetSecrets, and the progress of each of their clusters",
    example: "--watch",
    more:
      "Reads only the FleetSecrets of a namespace. With -o json or yaml it prints a list of them.\n" +
      "--watch shows each change until you interrupt it: it redraws on a terminal, and otherwise\n" +
      "prints lines. fleet rbac prints the rights that a cluster has to grant.",
    flags,
    rules: [
      ({ watch, output }) =>
        watch === true && output !== undefined && output !== "text"
          ? "--watch: shows text only; leave out --output"
          : undefined,
    ],
  },
  async ({ namespace, watch, output, ...how }, io) => {
    const cluster = await io.reach(how);
    const paint = paintFor(io.terminal);
    const render = (all: readonly FleetSecret[], lines: (one: FleetSecret) => string[]) =>
      all.length === 0 ? ["there is no FleetSecret"] : all.flatMap((one) => lines(one));
    const whole = (all: readonly FleetSecret[]) => render(all, (one) => fleetLines(one, paint));
    const short = (all: readonly FleetSecret[]) =>
      render(all, (one) => [fleetHeadline(one, paint)]);
    const first = await read(cluster, namespace);
    if (!watch) {
      await print(output, first, whole, io);
      return 0;
    }
    const { signal } = io;
    let shown = "";
    const show = async () => {
      const all = await read(cluster, namespace);
      // Into a pipe, we print a line for each change, without ages, because ages change all the
      // time.
      const lines = io.terminal === undefined ? short : whole;
      const now = JSON.stringify(lines(all));
      if (now === shown || signal.aborted) return;
      shown = now;
      if (io.terminal !== undefined) io.out(home);
      await print("text", all, lines, io);
    };
    let last = Promise.resolve();
    const failed = (error: Error) => io.err(error.message);
    const hint = () => (last = last.then(show).catch(failed));
    const path = fleetSecretsIn(namespace);
    await watchCollection({ cluster, path, query: {}, hint, failed, signal });
    await last;
    return 0;
  },
);

async function read(cluster: Cluster, namespace: string): Promise<FleetSecret[]> {
  const all: FleetSecret[] = [];
  try {
    await cluster.pages<FleetSecret>(fleetSecretsIn(namespace), {}, (page) => {
      all.push(...page.map((one) => withoutFields(one)));
    });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    throw new Refused("fleetsecrets: not served; apply manifests/fleet here");
  }
  return all;
}

/**
 * The object without managedFields. They are longer than the rest of the object, and users do not
 * need them here.
 */
function withoutFields(object: FleetSecret): FleetSecret {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
