/**
 * `fleet apply`: applies manifests to every joined cluster, through the caller's own contexts.
 */
import type { Cluster } from "#kube/client/cluster.ts";
import { clusterFlags } from "#plugin/cluster/flags.ts";
import { applyTo, isGood } from "#plugin/clusters/apply.ts";
import { routesTo, type Route } from "#plugin/clusters/contexts.ts";
import { readManifests } from "#plugin/clusters/manifests.ts";
import { whyNot } from "#plugin/clusters/place.ts";
import { columns, outputFlag, print } from "#plugin/terminal/output.ts";
import { command } from "#plugin/terminal/command.ts";
import { manifestFlags } from "./flags.ts";

export const apply = command(
  {
    group: "fleet",
    what: "apply manifests to every joined cluster, with your own rights there",
    example: "-f web.json --clusters east,west",
    more:
      "Applies all manifests in the files by server-side apply, CRDs and namespaces first. Prints a\n" +
      "line for each cluster and object. If an object fails, the command continues with the others.\n" +
      "Uses the contexts of your kubeconfig, never the tokens of the host: for each cluster the\n" +
      "context with its name, or else the context of the join. If a cluster joins later, apply again.",
    flags: {
      ...manifestFlags,
      ...outputFlag,
      ...clusterFlags,
    },
  },
  async ({ file, clusters = [], output, ...how }, io) => {
    const manifests = await readManifests(file, io);
    const routes = await routesTo(await io.reach(how), clusters, how, io);
    const rows = await inEach(routes, (cluster) => applyTo(cluster, manifests));
    await print(output, rows, linesOf, io);
    return rows.every(isGood) ? 0 : 1;
  },
);

/**
 * Runs `act` in all clusters at the same time. Returns a row for each object, or one row for a
 * cluster that cannot be reached.
 */
export async function inEach<Row extends Result>(
  routes: readonly Route[],
  act: (cluster: Cluster) => Promise<readonly Row[]>,
): Promise<(Readonly<{ cluster: string }> & (Row | Failure))[]> {
  const all = await Promise.all(
    routes.map(async ({ name, reach }) => {
      const rows = await reach()
        .then(act)
        .catch((error: unknown): Failure[] => [
          { object: "-", namespace: "", state: "failed", why: whyNot(error) },
        ]);
      return rows.map((row) => Object.assign({ cluster: name }, row));
    }),
  );
  return all.flat();
}

type Result = Readonly<{ object: string; namespace: string; state: string; why?: string }>;
type Failure = Result & Readonly<{ state: "failed" }>;

/** A table with the result for each object in each cluster. */
export function linesOf(rows: readonly (Readonly<{ cluster: string }> & Result)[]): string[] {
  if (rows.length === 0) return ["No cluster is joined: kubectl pull-secret fleet join --help."];
  const cells = rows.map(({ cluster, object, namespace, state, why = "" }) => [
    cluster,
    namespace === "" ? "-" : namespace,
    object,
    state,
    why,
  ]);
  return columns([["CLUSTER", "NAMESPACE", "OBJECT", "STATE", ""], ...cells]);
}
