/** `fleet delete`: deletes the objects of applied manifests from joined clusters. */
import { clusterFlags } from "#plugin/cluster/flags.ts";
import { routesTo } from "#plugin/clusters/contexts.ts";
import { deleteFrom, isDone } from "#plugin/clusters/delete.ts";
import { readManifests } from "#plugin/clusters/manifests.ts";
import { agree, yesFlag } from "#plugin/terminal/confirm.ts";
import { command } from "#plugin/terminal/command.ts";
import { outputFlag, print } from "#plugin/terminal/output.ts";
import { inEach, linesOf } from "./apply.ts";
import { manifestFlags } from "./flags.ts";

export const deleteManifests = command(
  {
    group: "fleet",
    what: "delete applied manifests from every joined cluster",
    example: "-f web.json --clusters east,west",
    more:
      "Deletes the objects of the files, in the reverse order of fleet apply, and with the same\n" +
      "contexts. Keeps objects that fleet apply has not applied, and objects that other clients also\n" +
      "own or manage. If an object is kept or fails, the command continues with the others, and the\n" +
      "exit code is 1. A namespace is deleted with everything in it. Asks first.",
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
    const rows = await inEach(routes, (cluster) => deleteFrom(cluster, manifests));
    await print(output, rows, linesOf, io);
    return rows.every(isDone) ? 0 : 1;
  },
);
