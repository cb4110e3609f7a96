/**
 * `npm run demo`: shows the product's main function on a real cluster of two nodes. The exit code
 * is 0 only if every claim of the demo holds.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { bundle } from "#tools/build/bundle.ts";
import { removeCluster, startCluster, type Cluster } from "../cluster/cluster.ts";
import { allStates, isLeftover } from "../cluster/host/state.ts";
import { ClaimFailed, Narrator } from "./narrator.ts";
import { showOffline } from "./offline.ts";
import { showRotation } from "./rotation.ts";
import { transcript } from "./script.ts";
import { runStory } from "./story.ts";

const clusterName = "demo";
const options = {
  help: { type: "boolean", short: "h" },
  keep: { type: "boolean" },
  down: { type: "boolean" },
  write: { type: "boolean" },
} as const;
const usage = `Usage: npm run demo -- [--keep | --down | --write]

Shows the product's main function on a real cluster of two nodes, and checks each claim.

  --keep   leave the cluster running, so that you can explore it
  --down   remove the cluster that --keep left running
  --write  put this run's transcript into README.md
`;
const about = `This takes about three minutes. The first run takes 7 to 15 minutes, because it also installs
Debian packages (debootstrap, buildah and others) and compiles Kubernetes into ~/.cache. The cluster
needs root on Debian or Ubuntu, Go and 6 GiB of memory. The first step needs none of them.
`;
const { help, keep, down, write } = asked();
if (help === true) {
  process.stdout.write(`${usage}\n${about}`);
  process.exit(0);
}
const narrator = new Narrator(process.stdout);

if (
  down !== true &&
  allStates().some((state) => state.name === clusterName && !isLeftover(state))
) {
  process.stderr.write(
    "the demo's cluster is already running; remove it with: npm run demo -- --down\n",
  );
  process.exit(1);
}
if (down === true) {
  process.stdout.write(
    removeCluster(clusterName) ? "the demo's cluster is removed\n" : "there is no demo cluster\n",
  );
  process.exit(0);
}

let cluster: Cluster | undefined;
try {
  process.stdout.write(about);
  await bundle();
  showOffline(narrator);
  narrator.step("nodes");
  cluster = await startCluster({ name: clusterName, keep: keep ?? false });
  narrator.writeLine(await cluster.kubectl("get", "nodes"));
  await runStory(cluster, narrator);
  await showRotation(cluster, narrator);
  narrator.end();
  if (write === true) {
    const text = readFileSync("README.md", "utf8");
    const reported = `$1${narrator.reported.join("\n")}\n$3`;
    writeFileSync("README.md", text.replace(transcript, reported));
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

/** Returns the flags. If they are wrong, prints one line and the usage, and ends the program. */
function asked(): ReturnType<typeof parseArgs<{ options: typeof options }>>["values"] {
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}
