/**
 * `npm run demo`: shows the product's main function. By default it needs only Node and npm, because
 * API server, systemd and kubelets are scripted. With `--cluster` it uses real nodes. The exit code
 * is 0 only if every claim of the demo holds.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { freshBundle } from "#tools/build/bundle.ts";
import { runFleet } from "./fleet.ts";
import { Narrator, ClaimFailed, Refused } from "./narrator.ts";
import { showOffline } from "./offline.ts";
import { scripts, transcript } from "./script.ts";
import { ScriptedCluster } from "./scripted.ts";
import { runScripted } from "./scripted-story.ts";

const options = {
  help: { type: "boolean", short: "h" },
  cluster: { type: "boolean" },
  fleet: { type: "boolean" },
  keep: { type: "boolean" },
  down: { type: "boolean" },
  write: { type: "boolean" },
  kubernetes: { type: "string" },
} as const;
const ofCluster = ["cluster", "keep", "down", "kubernetes"] as const;
const usage = `Usage: npm run demo -- [--write | --fleet | --cluster [--keep | --down] [--kubernetes VERSION]]

Shows the product's main function, and checks each claim.

  --fleet    show two clusters that get their credential from a management cluster
  --cluster  use real nodes: needs root on Debian or Ubuntu, Go and 6 GiB of memory; takes minutes
  --keep     leave the cluster running, so that you can explore it
  --down     remove the cluster that --keep left running
  --kubernetes 1.33
             use real nodes of this version, which the first run compiles
  --write    put this run's transcript into README.md
`;
const about = `The controller and the agents are the real programs, as processes on real files. Scripted are, as
in npm test: the API server, the nodes' systemd and the answers of their kubelets.
`;

async function showScripted(): Promise<void> {
  process.stdout.write(about);
  await freshBundle();
  if (asked.fleet === true) return await runFleet(new Narrator(process.stdout, scripts.fleet));
  const narrator = new Narrator(process.stdout, scripts.scripted);
  showOffline(narrator);
  await using cluster = await ScriptedCluster.start();
  await runScripted(cluster, narrator);
  narrator.end();
  if (asked.write !== true) return;
  const text = readFileSync("README.md", "utf8");
  const reported = `$1${narrator.reported.join("\n")}\n$3`;
  writeFileSync("README.md", text.replace(transcript, reported));
}

const asked = flagsOf();
if (asked.help === true) {
  process.stdout.write(usage);
  process.exit(0);
}
try {
  const isReal = ofCluster.some((flag) => asked[flag] !== undefined);
  // Loaded only here, because these modules need Linux.
  if (isReal) await (await import("./cluster.ts")).showCluster(asked);
  else await showScripted();
  if (asked.down !== true) process.stdout.write("\nEvery claim was checked and holds.\n");
} catch (error) {
  const what =
    error instanceof ClaimFailed
      ? `a claim does not hold: ${error.message}`
      : error instanceof Refused
        ? error.message
        : error;
  const text = what instanceof Error ? (what.stack ?? what.message) : String(what);
  process.stderr.write(`\n${text}\n`);
  process.exitCode = 1;
}

/** Returns the flags. If they are wrong, prints one line and the usage, and ends the program. */
function flagsOf(): ReturnType<typeof parseArgs<{ options: typeof options }>>["values"] {
  try {
    const { values } = parseArgs({ options });
    const { help: _, ...asking } = values;
    const flags = Object.keys(asking);
    const isOne = [["write"], ["fleet"], ofCluster].some((group: readonly string[]) =>
      flags.every((flag) => group.includes(flag)),
    );
    if (!isOne) throw new Error(`--${flags.join(" and --")} do not go together`);
    return values;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}
