/** `fleet delete`: deletes the objects of applied manifests from joined clusters. */
import { clusterFlags } from "#plugin/cluster/flags.ts";
import { routesTo, type Route } from "#plugin/clusters/contexts.ts";
import { deleteFrom, isDone, type Deletion } from "#plugin/clusters/delete.ts";
import { readManifests, type Manifest } from "#plugin/clusters/manifests.ts";
import { whyNot } from "#plugin/clusters/place.ts";
import { agree, yesFlag } from "#plugin/terminal/confirm.ts";
import { command } from "#plugin/terminal/command.ts";
import { outputFlag, print } from "#plugin/terminal/output.ts";
import { linesOf } from "./apply.ts";
import { manifestFlags } from "./flags.ts";

type Row = Readonly<{ cluster: string }> & Deletion;

export const deleteManifests = command(
  {
    group: "fleet",
    what: "delete applied manifests from every joined cluster",
    example: "-f web.json --clusters east,west",
    more:
      "Deletes the objects of the files, in the reverse order of an apply. Prints a line for each\n" +
      "cluster and object. Keeps objects that fleet apply has not applied, and objects that other\n" +
      "clients also own or manage. If an object is kept or fails, the command continues with the\n" +
      "others, and the exit code is 1. A namespace is deleted with everything in it. Uses the same\n" +
      "contexts as fleet apply. Asks first.",
    flags: {
      ...manifestFlags,
      ...yesFlag,
      ...outputFlag,
      ...clusterFlags,
    },
  },
  async ({ file, clusters = [], yes, output, ...how }, io) => {
    const manifests = await readManifests(file, io);
    const routes = await routesTo(await io.reach(how), clusters, how, io);
    const names = routes.map(({ name }) => name).join(", ");
    if (routes.length > 0)
      await agree(yes, `Delete the ${manifests.length} objects of ${file} in ${names}?`, io);
    const all = await Promise.all(routes.map((route) => rowsOf(route, manifests)));
    await print(output, all.flat(), linesOf, io);
    return all.flat().every(isDone) ? 0 : 1;
  },
);

async function rowsOf(
  { name, reach }: Route,
  manifests: readonly Manifest[],
): Promise<readonly Row[]> {
  try {
    const deletions = await deleteFrom(await reach(), manifests);
    return deletions.map((deletion) => Object.assign({ cluster: name }, deletion));
  } catch (error) {
    return [{ cluster: name, object: "-", namespace: "", state: "failed", why: whyNot(error) }];
  }
}
