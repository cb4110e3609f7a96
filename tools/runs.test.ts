import assert from "node:assert/strict";
import { test } from "node:test";
import { isClean, readTap, runsSection } from "./runs.ts";

test("a run on a changed tree is of no commit; what the run before it has written is no change", () => {
  assert.ok(isClean(""));
  assert.ok(isClean(" M docs/faults.md\n?? docs/faults-runs.json\n"));
  assert.ok(!isClean(" M docs/faults.md\n M agent/main.ts\n"));
  assert.ok(!isClean("?? agent/new.ts\n"));
});

test("the counts of all stages are added up, and what was skipped is named", () => {
  const stage = [
    "TAP version 13",
    "# Subtest: one",
    "ok 1 - one",
    "    ok 1 - a part of it # SKIP not on this machine",
    "not ok 2 - two",
    "# tests 3",
    "# pass 1",
    "# fail 1",
    "# cancelled 0",
    "# skipped 1",
  ].join("\n");
  assert.deepEqual(readTap(`${stage}\n${stage.replace("# cancelled 0", "# cancelled 1")}`), {
    counts: { tests: 6, passed: 2, failed: 3 },
    skipped: ["a part of it", "a part of it"],
  });
});

test("the page tells when, of which commit, what was counted and what was skipped", () => {
  const run = { at: "2031-02-03T04:05:06.789Z", commit: "abcdef012345", minutes: 42 };
  const section = runsSection(
    {
      faults: { ...run, counts: { tests: 3, failed: 0 }, skipped: ["a leak"] },
      long: { "test/a.long.test.ts": { ...run, counts: { tests: 7, failed: 1 } } },
    },
    ["test/a.long.test.ts", "test/b.long.test.ts"],
  );
  assert.match(
    section,
    /^\| `npm run test:faults` \| 2031-02-03 04:05 UTC \| `abcdef012345` \| 42 min \| 3 tests, 0 failed \| a leak \|$/m,
  );
  assert.match(
    section,
    /^\| `test\/a.long.test.ts` \| 2031-02-03 04:05 UTC \| `abcdef012345` \| 42 min \| 7 tests, 1 failed \|$/m,
  );
  assert.match(section, /^\| `test\/b.long.test.ts` \| never \|/m);
  assert.doesNotMatch(section, /soak/);
});
