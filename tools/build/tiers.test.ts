import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { load } from "js-yaml";
import { allTests } from "#tools/pages/promises-page.ts";
import { promises, shownBy } from "#tools/pages/promises.ts";
import { withoutCluster } from "./reporter.ts";
import {
  clusterFiles,
  filesOf,
  sampledFiles,
  shardOf,
  shards,
  testFiles,
  tierOf,
  versionFiles,
} from "./tiers.ts";

const files = testFiles();
test("runs each test file in its own tier", () => {
  const own = { test: filesOf("test"), cluster: filesOf("cluster"), all: filesOf("all") };
  for (const file of files) assert.ok(own[tierOf(file)].includes(file), file);
});

test("names only existing files in the fixed list, each once", () => {
  assert.equal(new Set(clusterFiles).size, clusterFiles.length);
  for (const file of clusterFiles) assert.ok(files.includes(file), file);
});

test("runs no test that needs a cluster in npm test", () => {
  const tiers = [
    ["agent/decide/decide.test.ts", "test"],
    ["bench/result/page.test.ts", "test"],
    ["test/harness/api/store.test.ts", "test"],
    ["test/story/agent.test.ts", "test"],
    ["test/e2e/new.test.ts", "all"],
    ["tools/build/licenses.slow.test.ts", "all"],
  ] as const;
  for (const [file, tier] of tiers) assert.equal(tierOf(file), tier, file);
});

test("assigns at least one file to every shard, and each file of test:all to a known shard", () => {
  const assigned = new Set(filesOf("all").map(shardOf));
  assert.deepEqual([...assigned].toSorted(), shards.toSorted());
});

test("runs every file of test/versions in the shard of this name, and no file that does not exist", () => {
  const own = files.filter((file) => shardOf(file) === "versions");
  assert.deepEqual(
    own.filter((file) => !versionFiles.includes(file)),
    [],
  );
  for (const file of versionFiles) assert.ok(files.includes(file), file);
});

test("shows every promise of the core in test:cluster, except the promise about imports", () => {
  const tests = allTests().filter((testCase) => testCase.tier === "cluster");
  const shown = new Set(tests.flatMap(({ name }) => shownBy(name)));
  const missing = Object.keys(promises).filter((key) => key.startsWith("H") && !shown.has(key));
  assert.deepEqual(missing, [withoutCluster]);
});

test("test:all runs every point of each file from which test:cluster runs only a sample", () => {
  const read = (file: string) => readFileSync(file, "utf8");
  const sampling = clusterFiles.filter((file) => {
    const fixtures = Array.from(read(file).matchAll(/"(\.\/.*\.fixture\.ts)"/g), ([, path = ""]) =>
      read(join(dirname(file), path)),
    );
    return [read(file), ...fixtures].some((text) => text.includes('sample.ts"'));
  });
  assert.deepEqual(sampling.toSorted(), sampledFiles);
  const all = filesOf("all");
  for (const file of sampledFiles) assert.ok(all.includes(file), file);
});

test("runs every shard in the weekly workflow", () => {
  const path = join(import.meta.dirname, "../../.github/workflows/all.yml");
  const { jobs } = load(readFileSync(path, "utf8")) as {
    jobs: { shard: { strategy: { matrix: { shard: string[] } } } };
  };
  assert.deepEqual(jobs.shard.strategy.matrix.shard, shards);
});
