import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { runFiles } from "#tools/build/run-files.ts";
import { lastRelease } from "./last-release.ts";

const compared = `finds CRDs of release ${lastRelease.version} to compare ours with`;
const released = "reports in one line why a checkout cannot be released";

/** Machine → its environment, and the tests that are skipped there, with the reason. */
const table: readonly (readonly [string, Record<string, string>, Record<string, RegExp>])[] = [
  [
    "the clone lacks that commit",
    { GIT_DIR: "/nowhere" },
    { [compared]: /^release .* is not in this clone: git fetch --unshallow$/ },
  ],
  [
    "git is not installed",
    { PATH: "/nowhere" },
    { [compared]: /^git is not installed$/, [released]: /^git is not installed$/ },
  ],
];

const noGit = spawnSync("git", ["--version"]).status !== 0 && "git is not installed";

for (const [where, env, skips] of table)
  test(`skips only the tests that need the last release if ${where}`, { skip: noGit }, async () => {
    const files = ["tools/definition/compatibility.test.ts"];
    // A missing commit does not affect ready.test.ts, which uses a repository of its own.
    if (released in skips) files.push("tools/release/ready.test.ts");
    const { passed, lines } = await runFiles(files, { bound: 60_000, env });
    assert.ok(passed, JSON.stringify(lines.filter(({ kind }) => kind === "failed")));
    const skipped = lines.filter((line) => line.kind === "skipped");
    assert.deepEqual(
      skipped.map(({ name }) => name),
      Object.keys(skips),
    );
    for (const { name, note } of skipped) assert.match(note, skips[name] ?? /^$/);
  });
