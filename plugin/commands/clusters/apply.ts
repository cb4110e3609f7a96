/**
 * `clusters apply`: applies manifests to every joined cluster, through the caller's own contexts.
 */
import { toggle } from "#contract/values.ts";
import { clusterFlags, dryRunFlag } from "#plugin/cluster/flags.ts";
import { applyTo, isGood, type Outcome } from "#plugin/clusters/apply.ts";
import { waysTo, type Route } from "#plugin/clusters/contexts.ts";
import { readManifests, type Manifest } from "#plugin/clusters/manifests.ts";
import { whyNot } from "#plugin/clusters/place.ts";
import { columns } from "#plugin/terminal/columns.ts";
import { command } from "#plugin/terminal/command.ts";
import { outputFlag, print } from "#plugin/terminal/output.ts";
import { manifestFlags } from "./flags.ts";

type Row = Readonly<{ cluster: string }> & Outcome;

export const apply = command(
  {
    group: "clusters",
    what: "apply manifests to every joined cluster, with your own rights there",
    example: "-f web.json --clusters east,west",
    more:
      "Server-side apply of whatever the files hold, namespaces and definitions first: a line for each\n" +
      "cluster and object, and exit code 1 if any failed; the others go on. Clusters are reached by\n" +
      "your kubeconfig's contexts, never by the tokens of the host: a context with the cluster's name,\n" +
      "or the one that it was joined with. A cluster that joins later needs another apply; --check\n" +
      "writes nothing, and shows which cluster lacks what.",
    flags: {
      ...manifestFlags,
      check: { ...toggle, what: "write nothing: show what is missing, differs or is not allowed" },
      "force-conflicts": { ...toggle, what: "take over fields that others manage" },
      ...outputFlag,
      ...dryRunFlag,
      ...clusterFlags,
    },
    rules: [
      ({ check, "force-conflicts": force }) =>
        check === true && force === true ? "--check: writes nothing; leave out one" : undefined,
    ],
  },
  async ({ file, clusters = [], check, "force-conflicts": force, output, ...how }, io) => {
    const manifests = await readManifests(file, io);
    const ways = await waysTo(await io.reach(how), clusters, how, io);
    const all = await Promise.all(ways.map((way) => rowsOf(way, manifests, { force, check })));
    const rows = all.flat();
    await print(output, rows, linesOf, io);
    return rows.every(isGood) ? 0 : 1;
  },
);

async function rowsOf(
  { name, reach }: Route,
  manifests: readonly Manifest[],
  asked: Readonly<{ force: boolean; check: boolean }>,
): Promise<readonly Row[]> {
  try {
    const outcomes = await applyTo(await reach(), manifests, asked);
    return outcomes.map((outcome) => Object.assign({ cluster: name }, outcome));
  } catch (error) {
    return [{ cluster: name, object: "-", namespace: "", state: "failed", why: whyNot(error) }];
  }
}

type Line = Readonly<{
  cluster: string;
  object: string;
  namespace: string;
  state: string;
  why?: string;
}>;

/** A table with the result for each object in each cluster. */
export function linesOf(rows: readonly Line[]): string[] {
  if (rows.length === 0) return ["No cluster is joined: kubectl pull-secret clusters join --help."];
  const cells = rows.map(({ cluster, object, namespace, state, why = "" }) => [
    cluster,
    namespace === "" ? "-" : namespace,
    object,
    state,
    why,
  ]);
  return columns([["CLUSTER", "NAMESPACE", "OBJECT", "STATE", ""], ...cells]);
}
