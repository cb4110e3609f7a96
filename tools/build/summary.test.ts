import assert from "node:assert/strict";
import { test } from "node:test";
import { promises } from "#tools/pages/promises.ts";
import type { Line } from "./reporter.ts";
import type { Tier } from "./tiers.ts";
import { missingIn, shownIn, summaryOf } from "./summary.ts";

const passed = (name: string): Line => ({ kind: "passed", name, file: "a.test.ts" });
const failed = (name: string): Line => ({ kind: "failed", name, file: "a.test.ts", error: "no" });
const skipped = (name: string, note: string): Line => ({ kind: "skipped", name, note, file: "a" });

test("counts a promise once, and only when its test passed", () => {
  const all = Object.keys(promises).filter((one) => one.startsWith("H")).length;
  const lines = [passed("H1, H2: a"), passed("H1: b"), failed("H3: c"), passed("says H4 within")];
  assert.match(
    shownIn(lines),
    new RegExp(`^H 2 of ${all}, K 0 of \\d+, L 0 of \\d+, M 0 of \\d+$`),
  );
});

test("lists skipped tests by reason, and ends with the counts", () => {
  const lines = [passed("a"), skipped("b", "needs Linux"), skipped("c", "needs Linux")];
  assert.equal(
    summaryOf(lines, { tier: "test", seconds: 61.4, whole: false }),
    "skipped, needs Linux:\n  b\n  c\nnpm test: 61 s\n1 passed, 0 failed, 2 skipped\n",
  );
});

test("warns if a whole run takes longer than the goal of its tier", () => {
  const warns = (tier: Tier, minutes: number, whole = true) =>
    /^slow: /m.test(summaryOf([], { tier, seconds: minutes * 60, whole }));
  assert.deepEqual(
    [warns("test", 3), warns("test", 3.1), warns("test", 9, false)],
    [false, true, false],
  );
  assert.deepEqual([warns("cluster", 25), warns("cluster", 26)], [false, true]);
  assert.equal(warns("all", 1000), false);
});

test("prints at most 40 lines when many tests are skipped", () => {
  const lines = Array.from({ length: 500 }, (_, index) => skipped(`t${index}`, `r${index % 2}`));
  const text = summaryOf(lines, { tier: "test", seconds: 1, whole: true });
  assert.ok(text.split("\n").length <= 40, text);
  assert.match(text, /^the others: `npm run test:cluster`, `npm run test:all`$/m);
});

const core = Object.keys(promises).filter((one) => one.startsWith("H") && one !== "H25");

test("reports a promise of the core that no passed test of test:cluster shows", () => {
  const all = core.map((number) => passed(`${number}: a`));
  assert.deepEqual(missingIn(all, "cluster", []), []);
  const [number = "", ...without] = core;
  for (const others of [[], [failed(`${number}: a`)], [skipped(`${number}: a`, "no cluster")]]) {
    const lines = [...without.map((one) => passed(`${one}: a`)), ...others];
    assert.deepEqual(missingIn(lines, "cluster", []), [number]);
  }
});

test("reports each promise of npm test that no passed test shows, except in files that skip a test", () => {
  const tests = [
    { file: "a.test.ts", name: "H1, L2: a", tier: "test" },
    { file: "b.test.ts", name: "H1: b", tier: "test" },
    { file: "a.test.ts", name: "H3: a", tier: "cluster" },
  ] as const;
  assert.deepEqual(missingIn([passed("H1, L2: a")], "test", tests), []);
  assert.deepEqual(missingIn([passed("H1: b")], "test", tests), ["L2 (a.test.ts)"]);
  const skips: Line = { kind: "skipped", name: "one agent", note: "no Linux", file: "a.test.ts" };
  assert.deepEqual(missingIn([skips], "test", tests), []);
  assert.deepEqual(missingIn([], "all", tests), []);
});
