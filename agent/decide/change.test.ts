/** Another program writes config.json while the kubelet is restarted for it. */
import assert from "node:assert/strict";
import test from "node:test";
import type { Journal } from "../journal/journal.ts";
import {
  crashed,
  decide,
  facts,
  foreign,
  now,
  quarantine,
  renewed,
  settling,
  tried,
  unit,
  written,
} from "../facts/facts.fixture.ts";

/**
 * What is decided when our entry is taken out at each start of the kubelet, and put back by us: the
 * codes, and how often the kubelet was restarted. `answers`: it does so, or never.
 */
function fought(from: Journal, answers: boolean): Readonly<{ codes: string[]; restarts: number }> {
  const codes: string[] = [];
  let [journal, time, running, starts, taken] = [from, now, 500, 0, true];
  for (let looks = 0; looks < 200 && journal.phase !== "applied"; looks += 1) {
    const step = decide(
      facts({
        journal,
        now: time,
        file: taken ? foreign() : written,
        unit: { ...renewed, invocation: starts === 0 ? "new" : `start ${starts}` },
        healthy: answers,
        stopwatch: { running, healthy: answers ? running : 0 },
      }),
    );
    codes.push(step.code);
    if (!("journal" in step)) [time, running] = [time + 1000, running + 1000];
    else journal = step.journal;
    if (step.action === "restart") [starts, running, taken] = [starts + 1, 0, true];
    if (step.action === "apply") taken = false;
    if (journal.phase === "restoring") break;
  }
  return { codes, restarts: starts };
}

test("a kubelet that answers has not failed, however often another program takes our entry out in its probation", () => {
  const before: readonly (readonly [when: string, journal: Journal])[] = [
    ["in its probation", settling],
    ["before it has answered", tried(1, 2000)],
    ["with a content that failed before", { ...settling, quarantine }],
  ];
  for (const [when, journal] of before) {
    const { codes, restarts } = fought(journal, true);
    assert.ok(!codes.includes("GPS214") && !codes.includes("GPS216"), `${when}: ${codes.join()}`);
    assert.equal(codes.at(-1), "GPS200", when);
    assert.equal(restarts, 2, "three an hour, with the one before");
  }
});

test("a kubelet that fails is rolled back, whoever writes meanwhile", () => {
  assert.equal(fought(tried(1, 2000), false).codes.at(-1), "GPS216");
  const down = { unit: crashed, healthy: false, file: foreign() };
  for (const journal of [settling, tried(1, 2000)]) {
    const step = decide(facts({ journal, ...down }));
    assert.ok(step.action === "apply");
    assert.deepEqual([step.journal.tried, step.journal.called], [1, true]);
  }
  const unmade = decide(facts({ journal: tried(1, 2000), unit, file: foreign() }));
  assert.ok(unmade.action === "apply" && unmade.journal.tried === 1);
});
