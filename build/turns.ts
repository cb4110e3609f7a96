/**
 * Files of test/ that take turns: a whole `npm test` runs one in eight of them, and eight runs have
 * run all. With every file in each run two cores took an hour, of which a change's run may take
 * half. What is in each run shows every promise of the core, of fleets and of tenants; these files
 * are the edges, and what needs clusters of nodes of its own.
 */
import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";

/** One in so many: with one in seven of 40 a run took 35 minutes. */
export const rounds = 8;

/** By the seconds that each takes, in rows of eight there and back: each eighth is as long. */
export const turns: readonly string[] = [
  "test/e2e/provider.test.ts",
  "test/faults/one-node.test.ts",
  "test/e2e/two-clusters.test.ts",
  "test/controller/withdrawal.test.ts",
  "test/faults/kill.test.ts",
  "test/controller/object.test.ts",
  "test/clusters/clusters.test.ts",
  "test/controller/rollout.test.ts",
  "test/e2e/staged.test.ts",
  "test/e2e/unreachable-nodes.test.ts",
  "test/controller/lease.test.ts",
  "test/e2e/coowned.test.ts",
  "test/e2e/registered.test.ts",
  "test/e2e/apitrouble.test.ts",
  "test/e2e/releases.test.ts",
  "test/controller/guest.test.ts",
  "test/controller/told.test.ts",
  "test/e2e/airgapped.test.ts",
  "test/cli/cluster.test.ts",
  "test/controller/odd.test.ts",
  "test/fleet/steering.test.ts",
  "test/faults/trouble.test.ts",
  "test/faults/phase.test.ts",
  "test/fleet/proof.test.ts",
  "test/controller/edits.test.ts",
  "test/e2e/ownership.test.ts",
  "test/faults/disk.test.ts",
  "test/controller/uninstall.test.ts",
  "test/fleet/hostile.test.ts",
  "test/e2e/joiner.test.ts",
  "test/fleet/faults.test.ts",
  "test/controller/api.test.ts",
  "test/controller/admission.test.ts",
  "test/differential/provider.test.ts",
  "test/e2e/policies.test.ts",
  "test/faults/config.test.ts",
  "test/cli/bundle.test.ts",
  "test/faults/job.test.ts",
  "test/fleet/node.test.ts",
  "test/faults/memory.test.ts",
  "test/clusters/theft.test.ts",
  "test/cli/completion.test.ts",
  "test/controller/sources.test.ts",
  "test/faults/overruled.test.ts",
  "test/faults/provider.test.ts",
  "test/clusters/cut.test.ts",
];

/**
 * Those of the files that run: all that take no turns, and the others whose turn it is. A seed may
 * be negative, as every other one is that a law prints.
 */
export const inTurn = (files: readonly string[], seed: number): readonly string[] =>
  files.filter((file) => {
    const place = turns.indexOf(file);
    return place === -1 || place % rounds === Math.abs(seed) % rounds;
  });

/** Whether a file of test:long or test:faults runs it whole, every point of every sample. */
export function isRunWhole(file: string): boolean {
  const long = file.replace(".test.ts", ".long.test.ts");
  const whole = existsSync(long) && readFileSync(long, "utf8").includes(`"./${basename(file)}"`);
  return whole || file.startsWith("test/faults/");
}
