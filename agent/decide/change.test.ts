/** Changes of config.json: on unfit nodes, and while other programs write config.json. */
import assert from "node:assert/strict";
import test from "node:test";
import { type Journal, firstJournal } from "../journal/journal.ts";
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
  follow,
  unanswered,
  stopped,
  unasked,
  unordered,
  withdrawn,
  notAsked,
} from "../facts/facts.fixture.ts";

/**
 * Decides round after round. At each start of the kubelet, another program removes our entry, and
 * the agent writes the entry again. Returns the codes and the number of restarts. `answers`:
 * whether the kubelet answers.
 */
function fought(from: Journal, answers: boolean): Readonly<{ codes: string[]; restarts: number }> {
  const codes: string[] = [];
  let [journal, time, running, starts, taken] = [from, now, 500, 0, true];
  for (let rounds = 0; rounds < 200 && journal.phase !== "applied"; rounds += 1) {
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

test("does not treat a kubelet as failed while it answers, however often another program removes our entry during the probation", () => {
  const before: readonly (readonly [when: string, journal: Journal])[] = [
    ["in its probation", settling],
    ["before it has answered", tried(1, 2000)],
    ["with a content that failed before", { ...settling, quarantine }],
  ];
  for (const [when, journal] of before) {
    const { codes, restarts } = fought(journal, true);
    assert.ok(!codes.includes("GPS214") && !codes.includes("GPS216"), `${when}: ${codes.join()}`);
    assert.equal(codes.at(-1), "GPS200", when);
    assert.equal(restarts, 2, "two restarts: three an hour are allowed, and one came before");
  }
});

test("rolls the file back if the kubelet fails, whatever other programs write meanwhile", () => {
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

test("restarts the kubelet when a restart is due, even if config.json cannot be written", () => {
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
    ["the same, it runs", { ...lags, journal: between }, "restart GPS214 → restarting"],
    [
      "no restart is due",
      { ...lags, ...down, journal: { ...between, owed: undefined } },
      "record GPS200 → applied",
    ],
    ["at rest", { ...down, ...excess, journal: idle }, "wait GPS206 Refused"],
  ]);
});

test("while a withdrawal can write neither config.json nor the provider's answer, still makes a restart that is due", () => {
  const empty = { name: "answer.json", bytes: Buffer.from("{}"), mode: 0o600, expected: "1" };
  const file = { kind: "refused", why: "it is a symbolic link", answer: { empty } } as const;
  const { undo: _undo, ...owing } = tried(1, 60_000);
  const release = { mounted: { ...withdrawn, digest: "seven's" }, file };
  const runs: FactsChange = { ...release, journal: owing };
  const down: FactsChange = { ...runs, unit: limited, healthy: false };
  const restoring: Journal = { ...tried(1, 60_000), phase: "restoring" };
  const back: FactsChange = { ...down, journal: restoring };
  const plan = (...args: Parameters<typeof written.plan>) => ({
    ...written.plan(...args),
    excess: "more bytes than we could read",
  });
  const large = { ...written, plan, holds: () => false, answer: { empty } };
  check([
    ["the disk is full", { ...down, unwritable: true }, "restart GPS214 → restarting"],
    ["too many writes", { ...down, writeIn: 500 }, "restart GPS214 → restarting"],
    ["the answer can be emptied first", down, "restore GPS226"],
    ["config.json would be too large", { ...runs, file: large }, "restore GPS226"],
    ["the disk is full, it runs", { ...runs, unwritable: true }, "restore GPS226"],
    ["too many writes, it runs", { ...runs, writeIn: 500 }, "wait GPS226"],
    ["a rollback, the disk is full", { ...back, unwritable: true }, "restart GPS217 → restoring"],
    ["a rollback, too many writes", { ...back, writeIn: 500 }, "restart GPS217 → restoring"],
    ["a rollback, the answer can be emptied first", back, "restore GPS226"],
    [
      "no restart is due",
      { ...down, unwritable: true, journal: { ...idle, revision: 6 } },
      "restore GPS226",
    ],
  ]);
});

/** The step as text: its code, then its result. */
function summary(change: Parameters<typeof facts>[0]): string {
  const step = decide(facts({ file: absent, ...change }));
  assert.ok(step.action === "wait" || step.action === "nothing" || step.action === "apply");
  return "result" in step ? `${step.code} ${step.result}` : step.code;
}

/** Facts that make a node unfit, and the expected report. */
const rows: readonly (readonly [
  what: string,
  change: Parameters<typeof facts>[0],
  first: string,
  later?: string,
])[] = [
  [
    "config.json is a link",
    { file: { kind: "refused", why: "it is a symbolic link" } },
    "GPS206 Refused",
  ],
  [
    "a newer agent was here",
    { journal: { kind: "newer", why: "version 9", owes: false } },
    "GPS222 Refused",
  ],
  ["systemd does not answer", { unit: unanswered }, "GPS210 Refused"],
  ["the directory of another kubelet", { elsewhere: "no pods/u" }, "GPS261 Refused"],
  ["no unit is active", { unit: { unfound: "kubelet.service is inactive" } }, "GPS229 Refused"],
  ["there is no such unit", { unit: { ...unit, load: "not-found" } }, "GPS211 Refused"],
  ["a left-over unit that is dead, while the kubelet answers", { unit: stopped }, "GPS230 Refused"],
  ["a unit without a process", { unit: { ...unit, mainPid: 0, sub: "exited" } }, "GPS230 Refused"],
  ["a unit that must not be restarted", { unit: { ...unit, refuses: true } }, "GPS259 Refused"],
  ["an old systemd", { unit: { unknown: "NRestarts", outdated: true } }, "GPS231 Refused"],
  ["healthz off, or on another port", { healthy: false }, "GPS221 Refused"],
];

test("refuses on an unfit node without an order too, also while content is served", () => {
  for (const [what, change, text] of rows)
    for (const at of [unordered, unasked])
      assert.equal(summary({ stopwatch: { file: 2000 }, ...change, ...at }), text, what);
  check([["a fit one", { ...unordered, file: absent }, "record GPS201 → applied"]]);
});

/** The steps after the write, until our folder is removed. */
const alone = ["record GPS200 → applied", "leave GPS224"];

test("withdraws from an unfit node: confirms it if no entry of ours can remain on the node, and reports a file that it cannot read", () => {
  const release = { mounted: { ...withdrawn, digest: "seven's" } };
  const olderJournal = { ...idle, revision: 6, digest: "six's", content: "six" };
  for (const [what, change] of rows) {
    if (change.journal !== undefined) continue;
    const at = { stopwatch: { file: 2000 }, ...change, ...release };
    const expected = change.elsewhere === undefined ? "GPS224 Removed" : "GPS261";
    assert.equal(summary(at), expected, what);
    const step = decide(facts({ file: foreign(), ...at, journal: olderJournal }));
    const isFile = at.file !== undefined;
    assert.equal("result" in step && step.result, isFile && "Refused", what);
    const { steps } = follow({ ...at, file: at.file ?? written, journal: idle });
    if (!isFile) assert.match(steps[0] ?? "", /^apply GPS226/, what);
    if (!isFile) assert.deepEqual(steps.slice(1, 3), alone, what);
  }
  const newer = { kind: "newer", why: "version 9", owes: false } as const;
  assert.equal(summary({ ...release, journal: newer }), "GPS222 Refused");
});

test("reports a file that it cannot read in the middle of a change only for a withdrawal, because an order might still succeed", () => {
  const applying = { ...idle, phase: "applying" } as const;
  const at = {
    file: { kind: "refused", why: "it is a symbolic link" },
    journal: applying,
  } as const;
  check([
    [
      "a withdrawal",
      { ...at, mounted: { ...withdrawn, digest: "seven's" } },
      "wait GPS206 Refused",
    ],
    ["an order", at, "wait GPS206"],
  ]);
});

test("removes our folder from the directory of another kubelet, but does not confirm the withdrawal there", () => {
  const elsewhere = "pods/u does not exist";
  const release = { elsewhere, mounted: { ...withdrawn, digest: "seven's" } };
  const empty = firstJournal({ absent: true });
  const rows: readonly (readonly [string, Parameters<typeof follow>[0], string])[] = [
    ["nothing of ours", { file: absent }, "wait GPS261"],
    ["an empty journal", { file: absent, journal: empty }, "leave GPS224, wait GPS261"],
    ["our folder", { file: absent, leftovers: true }, "leave GPS224, wait GPS261"],
    ["a file that cannot be read", { file: { kind: "refused", why: "" } }, "wait GPS261"],
    [
      "our entries, which were reread",
      { file: absent, journal: { ...idle, content: "none" } },
      "leave GPS224, wait GPS261",
    ],
  ];
  for (const [what, change, then] of rows) {
    const { steps, last } = follow({ ...release, ...change });
    assert.equal(steps.join(", "), then, what);
    assert.ok(!("result" in last) || last.result !== "Refused", what);
  }
});

test("takes no content in the directory of another kubelet, even if config.json there already matches", () => {
  const elsewhere = "pods/u does not exist";
  check([
    ["in force before the kubelet moved", { elsewhere, journal: idle }, "wait GPS261 Refused"],
    ["as ordered, by chance", { elsewhere, file: written }, "wait GPS261 Refused"],
    ["as served, by chance", { elsewhere, file: written, ...unasked }, "wait GPS261 Refused"],
  ]);
});

test("refuses content in force if the kubelet lacks what the delivery needs", () => {
  const file = { ...written, unfit: "its flags are not ours" };
  assert.equal(summary({ file, journal: idle }), "GPS235 Refused");
  assert.equal(summary({ ...unasked, file, journal: idle }), "GPS235 Refused");
});

test("refuses to change an unfit node, both at the first change and at later changes", () => {
  const next = { mounted: { ...mounted, revision: 8, digest: "eight's", content: "eight" } };
  for (const [what, change, text] of rows) {
    if (change.journal !== undefined) continue;
    const stopwatch = { file: 2000 };
    assert.equal(summary({ ...change, stopwatch }), text, what);
    assert.equal(
      summary({
        ...change,
        ...next,
        config: { revision: 8, digest: "eight's" },
        journal: idle,
        stopwatch,
      }),
      text,
      `${what}, the next revision`,
    );
  }
});

test("with --restart Never, does not ask systemd, but requires that healthz answers", () => {
  const never = { restart: "Never" } as const;
  check([
    ["fit", { ...unordered, config: never, unit: notAsked }, "record GPS201 → applied"],
    [
      "healthz does not answer",
      { config: never, unit: notAsked, file: absent, healthy: false },
      "wait GPS221 Refused",
    ],
    [
      "the unit of a control plane is down",
      { config: never, unit: stopped, file: absent },
      "wait GPS230 Refused",
    ],
  ]);
});

test("changes a node with an unfit provider only if the plan does not need the provider", () => {
  const unfit = "global-pull-secret.json is missing";
  const plan = { ...absent.plan(idle, mounted, false), changed: true };
  const file = { ...absent, unfit };
  check([
    ["nothing is ordered yet", { ...unordered, file }, "wait GPS235 Refused"],
    [
      "a revision is ordered",
      { file: { ...file, plan: () => ({ ...plan, unfit }) } },
      "wait GPS235 Refused",
    ],
    ["without the provider", { file: { ...file, plan: () => plan } }, "apply GPS226 → applying"],
  ]);
});
