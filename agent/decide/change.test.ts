/** Another program writes config.json while the kubelet is restarted for it. */
import assert from "node:assert/strict";
import test from "node:test";
import type { Journal } from "../journal/journal.ts";
import type { Plan } from "../delivery/delivery.ts";
import {
  absent,
  check,
  crashed,
  decide,
  facts,
  type FactsChange,
  foreign,
  idle,
  limited,
  mounted,
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

test("what keeps config.json from being written keeps no kubelet from the restart that it is owed", () => {
  const down: FactsChange = { unit: limited, healthy: false };
  const failed = { ...down, journal: tried(1, 60_000) };
  const full: FactsChange = { file: absent, unwritable: true };
  const between: Journal = { ...tried(1, 60_000), phase: "applying" };
  const lags: FactsChange = { file: absent, mounted: { ...mounted, revision: 6 } };
  const unable = (why: Partial<Plan>): FactsChange => {
    const plan = (...args: Parameters<typeof absent.plan>) => ({ ...absent.plan(...args), ...why });
    return { file: { ...absent, plan } };
  };
  const excess = unable({ excess: "more bytes than we could read" });
  const dying = { ...settling, calls: [now - 60_000] };
  check([
    ["the disk is full", { ...failed, ...full }, "restart GPS214 → restarting"],
    ["died in its probation", { ...full, ...down, journal: dying }, "restart GPS214 → restarting"],
    ["it is not due yet", { ...full, ...down, journal: tried(1, 2000) }, "apply GPS226 → applying"],
    ["it runs", { ...full, journal: tried(1, 60_000) }, "apply GPS226 → applying"],
    [
      "none allowed",
      { ...failed, ...full, config: { restart: "Never" } },
      "apply GPS226 → applying",
    ],
    ["there is room again", { ...failed, file: absent }, "apply GPS226 → applying"],
    ["too large", { ...failed, ...excess }, "restart GPS214 → restarting"],
    ["too large, it runs", { ...excess, journal: tried(1, 60_000) }, "wait GPS206"],
    [
      "for the third time",
      { ...down, ...excess, journal: tried(3, 60_000) },
      "record GPS216 → restoring",
    ],
    [
      "no place for it",
      { ...failed, ...unable({ unfit: "mounted noexec" }) },
      "restart GPS214 → restarting",
    ],
    [
      "between attempts, the volume lags",
      { ...lags, ...down, journal: between },
      "restart GPS214 → restarting",
    ],
    ["the same, it runs", { ...lags, journal: between }, "wait GPS203"],
    [
      "nothing is owed",
      { ...lags, ...down, journal: { ...between, owed: undefined } },
      "wait GPS203",
    ],
    ["at rest", { ...down, ...excess, journal: idle }, "wait GPS206"],
  ]);
});
