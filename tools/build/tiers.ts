/**
 * Assigns each test file to a command. A test belongs to the lowest tier that can show its promise:
 *
 * - `test`: `npm test`. Needs only the checkout. At most three minutes.
 * - `cluster`: `npm run test:cluster`. A fixed list of files on real parts. At most 25 minutes.
 * - `all`: `npm run test:all [shard]`. All other files, in shards of at most 100 minutes.
 */
import { globSync } from "node:fs";

export type Tier = "test" | "cluster" | "all";

export const commandOf: Readonly<Record<Tier, string>> = {
  test: "npm test",
  cluster: "npm run test:cluster",
  all: "npm run test:all",
};

export type Group = Readonly<{
  name: string;
  files: readonly string[];
  /** `one`: all files in one process. A number: one process for each file, this many at a time. */
  processes: "one" | 2;
  env?: Readonly<Record<string, string>>;
}>;

/**
 * The files of `test:cluster`, the longest first: every promise of the core; one walk-through each
 * for fleets, tenants and joined clusters; every delivery mode; the faults that users meet.
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
  "test/controller/hosted.test.ts",
  "test/controller/objects.test.ts",
  "test/fleet/page.test.ts",
  "test/faults/interruptions.test.ts",
  "test/faults/connection.test.ts",
  "test/faults/disk.test.ts",
  "test/faults/input.test.ts",
  "test/faults/reboot.test.ts",
];

/**
 * Shard of `test:all` → how the paths of its files begin. If several shards match a path, the first
 * of them gets the file.
 */
const shardPaths: Readonly<Record<string, readonly string[]>> = {
  soak: ["test/faults/soak"],
  faults: ["test/faults/"],
  nodes: ["test/e2e/"],
  controller: ["test/controller/"],
  clusters: ["test/fleet/", "test/clusters/", "test/sealed/"],
  tools: ["test/"],
  units: [""],
};

export const shards: readonly string[] = Object.keys(shardPaths);

/** Folders below test/ whose tests need only the checkout, except `*.slow` and `*.long` tests. */
const withoutParts = /^test\/(?:harness|story|cluster)\//;

/** The tier that runs the file, a path from the root of the checkout. */
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

/** The limits of waits are four times as high while other files run at the same time. */
const busy = { PATIENCE: "4" };

/**
 * The groups of a tier, each with its files and its environment. `all` also runs the unit tests,
 * with the random seed of its run.
 */
export function groupsOf(tier: Tier): readonly Group[] {
  const files = testFiles();
  const isStory = (file: string): boolean => file.startsWith("test/story/");
  const both = files.filter((file) => tierOf(file) === "test");
  const [stories, quick] = [both.filter(isStory), both.filter((file) => !isStory(file))];
  // Tests run in the time zone farthest from UTC, so that a test that depends on the machine's time
  // zone fails everywhere.
  const units = { env: { TZ: "Pacific/Kiritimati" }, processes: "one" } as const;
  switch (tier) {
    case "test":
      return [
        { name: "units", files: quick, ...units },
        // Runs two files at a time, because these tests mostly wait. PATIENCE doubles the limits of
        // waits. With a larger factor, a test would reach its own limit first.
        { name: "stories", files: stories, processes: 2, env: { PATIENCE: "2" } },
      ];
    case "cluster":
      return [{ name: "cluster", files: clusterFiles, processes: 2, env: busy }];
    case "all": {
      const of = Map.groupBy(
        files.filter((file) => tierOf(file) === "all"),
        shardOf,
      );
      return shards.map((name) => {
        const its = of.get(name) ?? [];
        if (name === "units") return Object.assign({ name, files: quick.concat(its) }, units);
        return { name, files: its, processes: 2, env: { ...busy, EVERY_POINT: "1" } };
      });
    }
  }
}
