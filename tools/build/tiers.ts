/**
 * Assigns each test file to a command. A test belongs to the lowest tier that can show its promise:
 *
 * - `test`: `npm test`. Needs only the checkout. At most four minutes.
 * - `cluster`: `npm run test:cluster`. A fixed list of files on real parts. At most 35 minutes.
 * - `all`: `npm run test:all [shard]`. All other files, in shards of at most 100 minutes.
 */
import { globSync } from "node:fs";

export type Tier = "test" | "cluster" | "all";

export const commandOf: Readonly<Record<Tier, string>> = {
  test: "npm test",
  cluster: "npm run test:cluster",
  all: "npm run test:all",
};

/**
 * The files of `test:cluster`: every promise of the core; one walk-through each for fleets, tenants
 * and joined clusters; every delivery mode; the faults that users meet; what keeps an account to
 * its rights; the chart.
 */
export const clusterFiles: readonly string[] = [
  "test/e2e/two-clusters.test.ts",
  "test/e2e/faults.test.ts",
  "test/e2e/provider.test.ts",
  "test/e2e/promise.test.ts",
  "test/controller/rights.test.ts",
  "test/e2e/coowned.test.ts",
  "test/e2e/policies.test.ts",
  "test/e2e/picture.test.ts",
  "test/controller/story.test.ts",
  "test/controller/bounds.test.ts",
  "test/controller/hosted.test.ts",
  "test/controller/objects.test.ts",
  "test/fleet/page.test.ts",
  "test/clusters/theft.test.ts",
  "test/faults/interruptions.test.ts",
  "test/faults/connection.test.ts",
  "test/faults/disk.test.ts",
  "test/faults/input.test.ts",
  "test/faults/reboot.test.ts",
  "test/install/rendered.test.ts",
  "test/install/chart.test.ts",
  "test/differential/cel.test.ts",
];

/** The files of `test:cluster` that `test:all` runs too, at every point of their matrices. */
export const sampledFiles: readonly string[] = [
  "test/controller/rights.test.ts",
  "test/e2e/coowned.test.ts",
  "test/e2e/two-clusters.test.ts",
  "test/faults/disk.test.ts",
];

/**
 * Shard of `test:all` → how the paths of its files begin. If several shards match a path, the first
 * of them gets the file.
 */
const shardPaths: Readonly<Record<string, readonly string[]>> = {
  soak: ["test/faults/soak", "test/controller/soak"],
  faults: ["test/faults/"],
  nodes: ["test/e2e/"],
  versions: ["test/versions/"],
  kind: ["test/kind/"],
  controller: ["test/controller/"],
  clusters: ["test/fleet/", "test/clusters/", "test/sealed/"],
  units: ["test/agent/", "test/harness/", "test/story/", "test/laws/"],
  breakages: ["test/breakages/"],
  tools: ["test/"],
};

export const shards: readonly string[] = Object.keys(shardPaths);

/**
 * The files that shard `versions` runs on each supported version of Kubernetes: those of its own
 * folder, and what keeps an account to its rights.
 */
export const versionFiles: readonly string[] = [
  "test/versions/simulated.test.ts",
  "test/versions/node.test.ts",
  "test/controller/bounds.test.ts",
];

/** Folders below test/ whose tests need only the checkout, except `*.slow` and `*.long` tests. */
const withoutParts = /^test\/(?:agent|breakages|harness|story|cluster|laws)\//;

/** The lowest tier that runs the file, a path from the root of the checkout. */
export function tierOf(file: string): Tier {
  if (clusterFiles.includes(file)) return "cluster";
  if (/\.(?:slow|long)\.test\.ts$/.test(file)) return "all";
  return !file.startsWith("test/") || withoutParts.test(file) ? "test" : "all";
}

/** The shard of `test:all` that runs the file. */
export function shardOf(file: string): string {
  const fits = ([, paths]: readonly [string, readonly string[]]) =>
    paths.some((path) => file.startsWith(path));
  return Object.entries(shardPaths).find(fits)?.[0] ?? "units";
}

export function testFiles(): readonly string[] {
  return globSync("**/*.test.ts", { exclude: ["node_modules/**", "dist/**"] }).toSorted();
}

/** The files that a command runs. `test:all` repeats the unit tests with the seed of its run. */
export function filesOf(tier: Tier): readonly string[] {
  return testFiles().filter(
    (file) =>
      tierOf(file) === tier ||
      (tier === "all" && (tierOf(file) === "test" || sampledFiles.includes(file))),
  );
}
