/**
 * `npm run demo [-- --keep | --down | --write]`: the main job on a real cluster of two nodes, every
 * claim checked. Exit 0 only when all of them hold. `--write` puts the run into README.md.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { bundle } from "#build/bundle.ts";
import { removeCluster, startCluster, type Cluster } from "../cluster/cluster.ts";
import { allStates, isLeftover } from "../cluster/host/state.ts";
import { ClaimFailed, Narrator } from "./narrator.ts";
import { tellRotation } from "./rotation.ts";
import { transcript } from "./script.ts";
import { tell } from "./story.ts";

const clusterName = "demo";
const { keep, down, write } = parseArgs({
  options: {
    keep: { type: "boolean" },
    down: { type: "boolean" },
    write: { type: "boolean" },
  },
}).values;
const narrator = new Narrator(process.stdout);

if (
  down !== true &&
  allStates().some((state) => state.name === clusterName && !isLeftover(state))
) {
  process.stderr.write(
    "the demo's cluster is up already; remove it with: npm run demo -- --down\n",
  );
  process.exit(1);
}
if (down === true) {
  process.stdout.write(
    removeCluster(clusterName) ? "the demo's cluster is gone\n" : "there is no demo cluster\n",
  );
  process.exit(0);
}

let cluster: Cluster | undefined;
try {
  narrator.step("nodes");
  await bundle();
  cluster = await startCluster({ name: clusterName, keep: keep ?? false });
  narrator.say(await cluster.kubectl("get", "nodes"));
  await tell(cluster, narrator);
  await tellRotation(cluster, narrator);
  narrator.end();
  if (write === true) {
    const text = readFileSync("README.md", "utf8");
    const told = `$1${narrator.told.join("\n")}\n$3`;
    writeFileSync("README.md", text.replace(transcript, told));
  }
  process.stdout.write("\nEvery claim was checked and holds.\n");
} catch (error) {
  const what = error instanceof ClaimFailed ? `a claim does not hold: ${error.message}` : error;
  process.stderr.write(
    `\n${what instanceof Error ? (what.stack ?? what.message) : String(what)}\n`,
  );
  process.exitCode = 1;
} finally {
  if (keep !== true) cluster?.down();
  else if (cluster !== undefined) {
    process.stdout.write(`The cluster stays up:  export KUBECONFIG=${cluster.kubeconfig}\n`);
    process.stdout.write("Remove it with:        npm run demo -- --down\n");
  }
}
