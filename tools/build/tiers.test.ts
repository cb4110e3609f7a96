import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { test } from "node:test";
import { load } from "js-yaml";
import { allTests } from "#tools/pages/promises-page.ts";
import { promises, shownBy } from "#tools/pages/promises.ts";
import { withoutCluster } from "./summary.ts";
import { clusterFiles, groupsOf, shardOf, shards, testFiles, tierOf } from "./tiers.ts";

const files = testFiles();
const [quick, cluster, all] = (["test", "cluster", "all"] as const).map((tier) =>
  groupsOf(tier).flatMap((group) => group.files),
);
const run = { test: quick, cluster, all };

test("runs each test file in its own tier", () => {
  for (const file of files) assert.ok(run[tierOf(file)]?.includes(file), file);
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

test("assigns at least one file to every shard, and each file of test:all to exactly one shard", () => {
  const groups = groupsOf("all");
  assert.deepEqual(
    groups.map(({ name }) => name),
    shards,
  );
  for (const { name, files: its } of groups) {
    assert.ok(its.length > 0, name);
    // The shard of the unit tests also runs the unit tests of `npm test`.
    for (const file of its) if (tierOf(file) === "all") assert.equal(shardOf(file), name, file);
  }
});

test("shows every promise of the core in test:cluster, except the promise about imports", () => {
  const tests = allTests().filter((one) => one.tier === "cluster");
  const shown = new Set(tests.flatMap(({ name }) => shownBy(name)));
  const missing = Object.keys(promises).filter((one) => one.startsWith("H") && !shown.has(one));
  assert.deepEqual(missing, [withoutCluster]);
});

test("test:all runs every point of each file from which test:cluster runs only a sample", () => {
  const sampling = clusterFiles.filter((file) => {
    const text = readFileSync(file, "utf8");
    return text.includes('sample.ts"') || text.includes(".fixture.ts");
  });
  assert.ok(sampling.length > 2);
  for (const file of sampling) {
    const fixtures = [...readFileSync(file, "utf8").matchAll(/"(\.\/.*\.fixture\.ts)"/g)];
    const texts = [file, ...fixtures.map(([, path = ""]) => join(dirname(file), path))];
    if (!texts.some((one) => readFileSync(one, "utf8").includes('sample.ts"'))) continue;
    const long = file.replace(".test.ts", ".long.test.ts");
    assert.match(readFileSync(long, "utf8"), new RegExp(`import.*"./${basename(file)}"`), file);
    assert.equal(tierOf(long), "all");
  }
});

test("runs every shard in the weekly workflow", () => {
  const path = join(import.meta.dirname, "../../.github/workflows/all.yml");
  const { jobs } = load(readFileSync(path, "utf8")) as {
    jobs: { shard: { strategy: { matrix: { shard: string[] } } } };
  };
  assert.deepEqual(jobs.shard.strategy.matrix.shard, shards);
});
