import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { temporary } from "#test/temporary.ts";
import { type Grant, keyOf } from "#contract/grant.ts";
import type { MessageKind } from "#contract/termination-message.ts";
import { refuse, resync, type Step, waitAndReport, wait } from "../facts/step.ts";
import type { Observed } from "../facts/grant.ts";
import { TerminationReport } from "./termination-report.ts";

const released: Step = { action: "nothing", code: "GPS224", ready: true, again: resync };
const inForce: Step = { ...released, code: "GPS200" };
const refusal = refuse("GPS206", 30_000, "it is a symbolic link");

const grant: Grant = { revision: 7, digest: "d", since: "2026-11-26T18:25:07Z", word: false };
const fulfilled = true;
const observed: Observed = { grant, journal: 7, fulfilled, failed: undefined };
const successor: Observed = { grant: "none", journal: 6, fulfilled: false, failed: keyOf(grant) };
const asked: Observed = { ...observed, grant: { ...grant, word: true } };
const later: Observed = {
  ...asked,
  grant: { ...grant, word: true, since: "2026-11-26T19:00:00Z" },
};

function place(t: TestContext) {
  const directory = temporary(t);
  const clock = { now: 0 };
  const start = () => new TerminationReport(directory, () => clock.now);
  return {
    directory,
    clock,
    start,
    marks: () => readFileSync(join(directory, "report"), "latin1"),
  };
}

/** The step as text: `exit 3 GPS206 unfit` if it ends the container, otherwise `wait GPS206`. */
function shown(step: Step): string {
  return step.action === "end"
    ? `exit ${step.exit} ${step.code} ${step.report}`
    : `${step.action} ${step.code}`;
}

const due: readonly (readonly [when: string, Step, Observed, shown: string])[] = [
  ["a proof that the grant requests", inForce, asked, "exit 0 GPS200 proved"],
  ["a proof that the grant does not request", inForce, observed, "nothing GPS200"],
  [
    "the granted content is not in force",
    inForce,
    { ...asked, fulfilled: false },
    "nothing GPS200",
  ],
  ["not ready yet", wait("GPS215", 100), asked, "wait GPS215"],
  ["a release, requested or not", released, observed, "exit 0 GPS224 released"],
  ["a release that is not ready", { ...released, ready: false }, observed, "nothing GPS224"],
  ["nothing was granted", released, { ...observed, grant: "none" }, "nothing GPS224"],
  ["a revoked grant", released, { ...asked, grant: { ...grant, revision: 0 } }, "nothing GPS224"],
  ["a grant of older content", waitAndReport("behind", "GPS256"), observed, "exit 3 GPS256 behind"],
  ["a grant that failed", waitAndReport("failed", "GPS219"), observed, "exit 1 GPS219 failed"],
  ["a failed grant of the previous pod", inForce, successor, "exit 1 GPS218 failed"],
  [
    "a failed grant of the previous pod, while the agent waits",
    wait("GPS215", 100),
    successor,
    "wait GPS215",
  ],
  [
    "a failed grant of the previous pod, and the pod's own grant was revoked",
    inForce,
    { ...successor, grant: { ...grant, revision: 0 } },
    "nothing GPS200",
  ],
  [
    "a failed grant of the previous pod, and the pod's own grant is not read yet",
    inForce,
    { ...successor, grant: "unread" },
    "nothing GPS200",
  ],
  ["a grant that was refused", waitAndReport("unfit", "GPS257"), observed, "exit 3 GPS257 unfit"],
];
for (const [when, step, seen, expected] of due)
  test(`makes a report that is due, and does not repeat it after the mark: ${when}`, (t) => {
    const { start } = place(t);
    const termination = start();
    const first = termination.orEnd(step, seen);
    assert.equal(shown(first), expected);
    if (first.action !== "end" || first.report === undefined) return;
    assert.equal(shown(start().orEnd(step, seen)), expected, "killed before the mark");
    termination.mark(first.report, seen);
    assert.deepEqual(start().orEnd(step, seen), step, "after its own report");
  });

test("repeats a report for a new `since`, and when the previous container ended without a mark", (t) => {
  const { start } = place(t);
  start().mark("proved", asked);
  assert.equal(shown(start().orEnd(inForce, asked)), "nothing GPS200");
  assert.equal(shown(start().orEnd(inForce, asked)), "exit 0 GPS200 proved", "after a crash");
  start().mark("proved", asked);
  assert.equal(shown(start().orEnd(inForce, later)), "exit 0 GPS200 proved", "a new since");
});

test("refuses a grant after the reason has lasted ten seconds, but not if the reason disappears earlier", (t) => {
  const { clock, start } = place(t);
  const termination = start();
  const seconds: readonly (readonly [second: number, step: Step, shown: string])[] = [
    [0, refusal, "wait GPS206"],
    [9, refusal, "wait GPS206"],
    [9.5, wait("GPS209", 100), "wait GPS209"],
    [10, refusal, "wait GPS206"],
    [15, { ...refusal, code: "GPS211" }, "wait GPS211"],
    [19.9, refusal, "wait GPS206"],
    [20, refusal, "exit 3 GPS206 unfit"],
  ];
  for (const [second, step, expected] of seconds) {
    clock.now = second * 1000;
    assert.equal(shown(termination.orEnd(step, observed)), expected, `after ${second} s`);
  }
  termination.mark("unfit", observed);
  clock.now += 60_000;
  const next = start();
  assert.deepEqual(next.orEnd(refusal, observed), refusal);
  clock.now += 60_000;
  assert.deepEqual(next.orEnd(refusal, observed), refusal);
});

test("never refuses a grant that was proved, even in a later container, but can refuse another grant", (t) => {
  for (const proof of [observed, asked]) {
    const { clock, start } = place(t);
    const refuse = (termination: TerminationReport, seen: Observed) => {
      termination.orEnd(refusal, seen);
      clock.now += 10_000;
      return shown(termination.orEnd(refusal, seen));
    };
    assert.equal(refuse(start(), proof), "exit 3 GPS206 unfit", "in force, and not proved");
    const termination = start();
    const proved = termination.orEnd(inForce, proof);
    if (proved.action === "end" && proved.report !== undefined)
      termination.mark(proved.report, proof);
    assert.equal(refuse(termination, proof), "wait GPS206");
    for (let crashes = 0; crashes < 2; crashes += 1)
      assert.notEqual(refuse(start(), observed), "exit 3 GPS206 unfit", "a later container");
    assert.equal(refuse(start(), later), "exit 3 GPS206 unfit", "another grant");
  }
});

test("when the grant changes, waits ten seconds again before a refusal", (t) => {
  const { clock, start } = place(t);
  const termination = start();
  termination.orEnd(refusal, observed);
  clock.now = 9000;
  termination.orEnd(refusal, later);
  clock.now = 18_000;
  assert.equal(shown(termination.orEnd(refusal, later)), "wait GPS206");
  clock.now = 19_000;
  assert.equal(shown(termination.orEnd(refusal, later)), "exit 3 GPS206 unfit");
});

test("remembers a refused grant through every restart of the container", (t) => {
  const { start } = place(t);
  start().mark("unfit", observed);
  const key = "7/d/2026-11-26T18:25:07Z";
  for (let crashes = 0; crashes < 3; crashes += 1) assert.equal(start().refused, key);
  start().mark("proved", later);
  assert.equal(start().refused, key);
});

test("requests a round for the time at which a refusal is due, if the next round would be later", (t) => {
  const { clock, start } = place(t);
  const termination = start();
  assert.equal(termination.orEnd(refusal, observed).again, 10_000);
  clock.now = 4000;
  assert.equal(termination.orEnd(refusal, observed).again, 6000);
  assert.equal(termination.orEnd({ ...refusal, again: 1000 }, observed).again, 1000);
  assert.equal(termination.orEnd({ ...refusal, again: "back off" }, observed).again, "back off");
});

test("keeps the same number of marks, however many grants arrive", (t) => {
  const { start, marks } = place(t);
  const lengths = [200, 1000].map((count) => {
    for (let revision = 1; revision <= count; revision += 1) {
      const seen = { ...observed, grant: { ...grant, revision: 100_000 + revision } };
      const kinds: readonly MessageKind[] = ["proved", "failed", "unfit", "behind", "released"];
      for (const kind of kinds) start().mark(kind, seen);
    }
    return marks().length;
  });
  assert.equal(lengths[0], lengths[1]);
});

test("reports a release even if the same pod has refused the grant before", (t) => {
  const { start } = place(t);
  start().mark("unfit", observed);
  assert.equal(shown(start().orEnd(released, observed)), "exit 0 GPS224 released");
});

test("does not mark the failure of ungranted content", (t) => {
  const { directory, start } = place(t);
  start().mark("failed", { ...observed, grant: "none" });
  assert.equal(existsSync(join(directory, "report")), false);
});

test("reports a refusal only once if no mark can be written, but reports a release again", (t) => {
  const { clock } = place(t);
  const termination = new TerminationReport("/nonexistent", () => clock.now);
  termination.orEnd(refusal, observed);
  clock.now = 10_000;
  assert.equal(shown(termination.orEnd(refusal, observed)), "exit 3 GPS206 unfit");
  assert.throws(() => termination.mark("unfit", observed), /ENOENT/);
  assert.deepEqual(termination.orEnd(refusal, observed), refusal);
  assert.equal(shown(termination.orEnd(released, observed)), "exit 0 GPS224 released");
  assert.throws(() => termination.mark("released", observed), /ENOENT/);
  assert.equal(shown(termination.orEnd(released, observed)), "exit 0 GPS224 released");
});
