/** The table phase × process of the kubelet, cell by cell. */
import assert from "node:assert/strict";
import test from "node:test";
import { keyOf, type Order } from "#contract/order.ts";
import {
  ago,
  before,
  brief,
  crashed,
  decide,
  type FactsChange,
  fileWith,
  idle,
  journalOf,
  key,
  released,
  renewed,
  restarting,
  reviving,
  served,
  seven,
  starting,
  stopped,
  unanswered,
  unit,
} from "../facts/facts.fixture.ts";
import { codes, type Step } from "../facts/step.ts";
import { type Journal, never, noContent } from "../journal/journal.ts";
import type { Unit } from "../systemd/unit.ts";

const slow = 241_000;

const cells: readonly (readonly [name: string, change: FactsChange, expected: string])[] = [
  ["waits while systemd does not answer", { unit: unanswered }, "wait GPS210"],
  ["restarts the process that ran when the file was put in place", {}, "restart GPS212"],
  ["waits for a start", { unit: starting, healthz: "nobody" }, "wait GPS213"],
  ["waits for a process without an answer", { unit: renewed(), healthz: "silent" }, "wait GPS213"],
  [
    "reports a slow start after four minutes, and does not restart it",
    { unit: { ...starting, started: 0 }, healthz: "nobody", journal: slowJournal() },
    "wait GPS271",
  ],
  [
    "calls a start slow four minutes after the request",
    {
      unit: { ...starting, started: 0 },
      healthz: "nobody",
      journal: { ...slowJournal(), asked: ago(1000) },
    },
    "wait GPS213",
  ],
  [
    "calls a start slow four minutes after systemd started it",
    { unit: starting, healthz: "nobody", journal: slowJournal() },
    "wait GPS213",
  ],
  [
    "watches a start after a release, too",
    { unit: starting, healthz: "nobody", ...withdrawn() },
    "wait GPS213",
  ],
  [
    "waits no longer for a process that lives after a release",
    { unit: { ...starting, started: 0 }, healthz: "nobody", ...withdrawn(slowJournal()) },
    "record GPS254",
  ],
  [
    "starts a dead process again after a release, too",
    { unit: stopped, ...withdrawn({ ...restarting, asked: ago(10_001) }) },
    "restart GPS214",
  ],
  ["lets systemd start a process that died", { unit: crashed }, "wait GPS214"],
  [
    "starts a process that only a request starts, after the start limit interval",
    { unit: stopped, journal: { ...restarting, asked: ago(10_001) } },
    "restart GPS214",
  ],
  ["waits for the start limit interval", { unit: stopped }, "wait GPS214"],
  [
    "waits for systemd's usual interval, 10 s, if the unit has none",
    { unit: { ...stopped, startLimit: 0 }, journal: { ...restarting, asked: ago(9999) } },
    "wait GPS214",
  ],
  [
    "waits no longer than systemd's usual interval if the unit has none",
    { unit: { ...stopped, startLimit: 0 }, journal: { ...restarting, asked: ago(10_001) } },
    "restart GPS214",
  ],
  [
    "waits for up to a minute",
    {
      unit: { ...stopped, startLimit: 3_600_000 },
      journal: { ...restarting, asked: ago(59_999) },
    },
    "wait GPS214",
  ],
  [
    "waits for at most a minute",
    {
      unit: { ...stopped, startLimit: 3_600_000 },
      journal: { ...restarting, asked: ago(60_001) },
    },
    "restart GPS214",
  ],
  ["watches a new process", { unit: renewed(4000) }, "wait GPS215"],
  ["is done after the probation", { unit: renewed(5000) }, "record GPS200"],
  [
    "does not prove a content with which three processes died while the file could not go back",
    { unit: renewed(6000), journal: { ...restarting, deaths: 3 } },
    "commit GPS216",
  ],
  [
    "is done after four minutes if nobody listens at healthz",
    { unit: renewed(slow), healthz: "nobody" },
    "record GPS200",
  ],
  [
    "is done after four minutes if another user listens at healthz",
    { unit: renewed(slow), healthz: "foreign" },
    "record GPS200",
  ],
  [
    "does not believe another user's process",
    { unit: renewed(10_000), healthz: "foreign" },
    "wait GPS213",
  ],
];

function slowJournal() {
  return { ...restarting, written: ago(slow + 500), asked: ago(slow) };
}

function withdrawn(journal = restarting) {
  const nothing = { ...noContent, revision: journal.content.revision };
  return { journal: { ...journal, content: nothing, back: noContent }, contents: released };
}

const large = { bytes: Buffer.from(`{"x":"${"x".repeat(2 * 1024 * 1024)}"}`), mode: 0o600 };
const obstacles: readonly (readonly [what: string, change: FactsChange])[] = [
  ["the disk is full", { blocked: "ENOSPC" }],
  ["the file has a hard link", { file: { kind: "refused", why: "it has 2 hard links" } }],
  ["another program writes the file", { file: { kind: "changing" } }],
  ["the former file is too large", { journal: { ...restarting, theirs: large } }],
];
for (const [what, change] of obstacles)
  test(`starts a kubelet that died three times after a growing pause, although its file cannot go back: ${what}`, () => {
    const { journal = restarting } = change;
    const after = (deaths: number, pause: number) => {
      const asked = { ...(journal as typeof restarting), deaths, asked: ago(pause) };
      return brief(decide({ ...change, unit: stopped, journal: asked }));
    };
    assert.equal(after(2, 10_001), "restart GPS214");
    assert.match(after(4, 39_000), /^wait /);
    assert.equal(after(4, 40_001), "restart GPS214");
    assert.equal(after(400, 900_001), "restart GPS214");
  });

for (const [name, change, expected] of cells)
  test(`restarting: ${name}`, () =>
    assert.equal(brief(decide({ journal: restarting, ...change })), expected));

const revivals: typeof cells = [
  ["waits while systemd does not answer", { unit: unanswered }, "wait GPS210"],
  [
    "does not wait for systemd after a release",
    { unit: unanswered, journal: { ...reviving, content: noContent }, contents: released },
    "record GPS254",
  ],
  [
    "waits for a starting process, whenever the process before it was started",
    { unit: { ...starting, started: 0 }, healthz: "nobody" },
    "wait GPS213",
  ],
  ["watches a process that works", { unit: renewed(4000) }, "wait GPS215"],
  ["ends after the probation", { unit: renewed(5000) }, "record GPS218"],
  [
    "ends with a process that lives for four minutes",
    { unit: renewed(slow), healthz: "silent", journal: { ...reviving, written: ago(slow) } },
    "record GPS218",
  ],
  ["lets systemd start a process that died", { unit: crashed }, "wait GPS214"],
  ["starts a dead process at once", { unit: stopped }, "restart GPS217"],
  [
    "starts a dead process again after a pause that grows",
    { unit: stopped, journal: { ...reviving, tries: 2, asked: ago(39_000) } },
    "wait GPS220",
  ],
  [
    "starts a dead process again",
    { unit: stopped, journal: { ...reviving, tries: 2, asked: ago(41_000) } },
    "restart GPS220",
  ],
  [
    "pauses for at most 15 minutes",
    { unit: stopped, journal: { ...reviving, tries: 9, asked: ago(900_001) } },
    "restart GPS220",
  ],
  [
    "pauses for up to 15 minutes",
    { unit: stopped, journal: { ...reviving, tries: 9, asked: ago(899_000) } },
    "wait GPS220",
  ],
];

for (const [name, change, expected] of revivals)
  test(`reviving: ${name}`, () =>
    assert.equal(brief(decide({ journal: reviving, ...change })), expected));

test("counts each start of a dead kubelet once", () => {
  const first = decide({ journal: reviving, unit: stopped });
  assert.equal((journalOf(first) as typeof reviving).tries, 1);
});

test("H18: restores the former content after three processes died, spaced by the start limit", () => {
  let journal = restarting;
  for (const deaths of [1, 2, 3]) {
    const dead = { ...stopped, invocation: `try ${deaths}` };
    const isLast = deaths === 3;
    assert.equal(decide({ journal, unit: dead }).action, isLast ? "commit" : "wait");
    if (isLast) break;
    const asked = decide({ journal: { ...journal, asked: ago(10_001) }, unit: dead });
    assert.equal(asked.action, "restart");
    journal = journalOf(asked) as typeof restarting;
    assert.equal(journal.deaths, deaths);
  }
  const rolledBack = decide({ journal, unit: stopped });
  assert.equal(brief(rolledBack), "commit GPS216");
  const { content, phase, written } = journalOf(rolledBack);
  assert.deepEqual([content, phase, written], [restarting.back, "reviving", ago(0)]);
  assert.ok(rolledBack.action === "commit" && "bytes" in rolledBack.commit.file);
  assert.match(rolledBack.commit.file.bytes.toString(), /team\.io.*dTpvbGQ=/);
  const reviving = decide({ journal: journalOf(rolledBack), unit: stopped });
  assert.equal(brief(reviving), "restart GPS217");
});

test("saves the time of the first request, too", () => {
  const step = decide({ journal: { ...restarting, asked: never } });
  assert.deepEqual(journalOf(step), { ...restarting, asked: ago(0) });
});

test("counts the time until the kubelet rereads the file from a refused restart", () => {
  const step = decide({ journal: restarting });
  assert.ok(step.action === "restart", brief(step));
  assert.deepEqual([step.refused?.phase, step.refused?.written], ["resting", ago(0)]);
});

test("keeps what another program wrote during a change that is rolled back, also for our registry", () => {
  const journal = { ...restarting, back: noContent, deaths: 2 };
  const bytes = Buffer.from('{"auths":{"team.io":{"auth":"dTp0ZWFt"},"a.io":{"auth":"dTpvd24="}}}');
  const repaired = decide({ journal, file: fileWith({ bytes, mode: 0o600 }) });
  assert.equal(brief(repaired), "commit GPS225");
  const rolledBack = decide({ journal: journalOf(repaired), unit: stopped });
  assert.equal(brief(rolledBack), "commit GPS216");
  assert.ok(rolledBack.action === "commit" && "bytes" in rolledBack.commit.file);
  assert.equal(rolledBack.commit.file.bytes.toString(), bytes.toString());
});

test("H18: does not try the content again for an order that came during the change", () => {
  const again = { ...seven, attempt: seven.attempt + 1 };
  const unasked = keyOf({ ...seven, attempt: 0 });
  for (const failed of [key, unasked]) {
    const end = (order: Order) => journalOf(decide({ journal: { ...reviving, failed }, order }));
    assert.equal(brief(decide({ journal: end(again), order: again })), "wait GPS218 Failed");
    const other = { ...again, digest: "other" };
    assert.deepEqual(end(other), { ...before, written: reviving.written, failed });
    const later = { ...again, attempt: again.attempt + 1 };
    assert.equal(decide({ journal: end(again), order: later }).action, "commit");
  }
});

test("waits for no reread of what the process read at its start, in both directions", () => {
  for (const journal of [restarting, reviving] as const)
    for (const [written, left] of [
      [ago(9000), never],
      [ago(8999), ago(8999)],
    ] as const) {
      const end = { ...journal, written, asked: ago(9000) };
      const next = journalOf(decide({ journal: end, unit: renewed(8000) }));
      assert.deepEqual([next.phase, next.written], ["resting", left]);
    }
});

test("names the failed content although it was taken without an order", () => {
  const step = decide({ journal: before, order: "none", contents: served });
  assert.equal(step.action, "nothing");
  const first = journalOf(decide({ order: "none", contents: served }));
  assert.ok(first.phase === "restarting");
  assert.equal(first.order, keyOf({ ...seven, attempt: 0 }));
});

/** Processes with the new file that die, each after the last: what the agent's looks decide. */
class Deaths {
  dead = 0;
  #journal: Journal = { ...restarting, asked: never };
  #restarts: number;

  /** `restarts`: systemd's own restarts before the change. */
  constructor(restarts: number) {
    this.#restarts = restarts;
  }

  /** The agent looks at the unit: it goes back if three processes died, and not earlier. */
  look(fact: Unit): Step {
    const step = decide({
      journal: this.#journal,
      unit: { ...fact, restarts: this.#restarts },
      healthz: "nobody",
    });
    assert.equal(step.code === codes.notBack, this.dead >= 3, `${this.dead} died: ${brief(step)}`);
    if (step.action === "record") this.#journal = journalOf(step);
    return step;
  }

  /** RestartUnit. systemd counts from 0 afterwards, unless it refuses. */
  request(step: Step, isRefused = false): void {
    assert.ok(step.action === "restart", brief(step));
    this.#journal = { ...(journalOf(step) as typeof restarting), asked: ago(10_001) };
    if (!isRefused) this.#restarts = 0;
  }

  /** The process dies, and systemd starts the next. `isSeen`: whether the agent looks. */
  die(isSeen: () => boolean): void {
    const process = `process ${this.dead}`;
    if (isSeen()) this.look({ ...starting, invocation: process });
    this.dead += 1;
    if (isSeen()) this.look({ ...crashed, invocation: process });
    this.restart();
    if (isSeen()) this.look({ ...crashed, invocation: process, busy: true });
  }

  restart(): void {
    this.#restarts += 1;
  }
}

for (const former of [0, 1, 2, 3, 57])
  test(`H18: goes back when exactly three processes with the new file have died, whenever it looks, after ${former} restarts by systemd`, () => {
    for (let looks = 0; looks < 2 ** 9; looks += 1) {
      const deaths = new Deaths(former);
      deaths.request(deaths.look(unit));
      let bit = 1;
      const isSeen = () => (looks & (bit *= 2)) > 0;
      for (let process = 0; process < 3; process += 1) deaths.die(isSeen);
      deaths.look({ ...starting, invocation: "process 3" });
    }
  });

test("H18: does not count the death of the process from before the change", () => {
  for (const former of [0, 1, 57]) {
    const deaths = new Deaths(former);
    deaths.look({ ...crashed, invocation: "old" });
    deaths.restart();
    for (let process = 0; process < 3; process += 1) deaths.die(() => true);
  }
});

test("H18: does not count a refused request, also if systemd unloads the dead unit", () => {
  const deaths = new Deaths(57);
  let last = "old";
  const ask = (invocation: string, isRefused: boolean) =>
    deaths.request(deaths.look({ ...stopped, invocation }), isRefused);
  for (const next of ["first", "second", "third"]) {
    for (const seen of [last, "", last]) ask(seen, true);
    ask(last, false);
    last = next;
    deaths.dead += 1;
  }
  deaths.look({ ...stopped, invocation: last });
});

test("after a reboot, does not count the restarts by systemd before the agent's first look", () => {
  const other = { boot: "before", monotonic: 5e6 };
  const journal = { ...restarting, written: other, asked: other };
  const looped = (fact: Unit) => ({ ...fact, restarts: 4 });
  for (const seen of [starting, crashed]) {
    const counting = decide({ journal, unit: looped(seen), healthz: "nobody" });
    assert.equal(brief(counting), "record GPS213");
    const again = { journal: journalOf(counting), unit: looped(seen), healthz: "nobody" } as const;
    assert.equal(decide(again).action, "wait");
  }
  const working = decide({ journal, unit: looped(renewed(6000)) });
  const proved = decide({ journal: journalOf(working), unit: looped(renewed(6000)) });
  assert.equal(brief(proved), "record GPS200");
  assert.equal(brief(decide({ journal: journalOf(proved) })), "nothing GPS200 Proved");
  assert.equal(decide({ journal, unit: looped(stopped) }).action, "restart");
});

test("a process that works is judged by its probation alone", () => {
  const healthy = { ...renewed(6000), restarts: 9 };
  const proved = decide({ journal: restarting, unit: healthy });
  assert.equal(brief(proved), "record GPS200");
  assert.deepEqual(journalOf(proved).written, never);
});

test("does not believe that a process read the file that nobody requested to start", () => {
  const other = { ...renewed(6000), invocation: "other" };
  const journal = { ...restarting, written: ago(6050), asked: never };
  const seen = journalOf(decide({ journal, unit: other }));
  const ended = decide({ journal: seen, unit: other });
  assert.equal(brief(ended), "record GPS200");
  assert.equal(brief(decide({ journal: journalOf(ended), unit: other })), "wait GPS254");
});

test("waits for the reread of a drift that was repaired after the request", () => {
  const journal = { ...restarting, written: ago(1000), asked: ago(7000) };
  const ended = journalOf(decide({ journal, unit: renewed(6000) }));
  assert.deepEqual(ended.written, ago(1000));
});

test("lets the kubelet reread the file if systemd refuses to restart a living process", () => {
  const step = decide({ journal: restarting });
  assert.ok(step.action === "restart" && step.refused !== undefined);
  assert.equal(step.refused.phase, "resting");
  const again = decide({ journal: step.refused, unit });
  assert.equal(brief(again), "wait GPS254");
});

test("restarts nothing after a release, and leaves although systemd does not answer", () => {
  for (const unitFact of [unit, unanswered]) {
    const change = { contents: released, unit: unitFact, file: undefined };
    const { file: _file, ...others } = change;
    const removed = decide({ journal: restarting, ...others });
    assert.equal(removed.action, "commit");
    const rest = decide({ journal: journalOf(removed), ...others });
    assert.equal(brief(rest), "record GPS254");
    assert.equal(decide({ journal: journalOf(rest), ...others }).action, "leave");
  }
});

test("rests at once in a mode that restarts nothing", () => {
  const step = decide({ journal: restarting, config: { restart: "Never" } });
  assert.equal(journalOf(step).phase, "resting");
});

test("H17: if restarts are off, reports the proof only 305 s after the file is in place", () => {
  const config = { restart: "Never" } as const;
  const at = (age: number) => brief(decide({ journal: { ...idle, written: ago(age) }, config }));
  assert.deepEqual([304_000, 305_000].map(at), ["wait GPS254", "record GPS200"]);
});

test("reports the proof after a reboot", () => {
  const journal = { ...idle, written: { boot: "another", monotonic: 0 } };
  assert.equal(brief(decide({ journal, unit })), "nothing GPS200 Proved");
});

test("joins again if its content was only found in its files, unless it failed with the served one", () => {
  const content = { ...idle.content, revision: 0, digest: "" };
  const found = { ...idle, content };
  const rotated = { ...found, content: { ...content, entries: before.content.entries } };
  const joining = { order: "none", contents: served } as const;
  assert.equal(brief(decide({ ...joining, journal: rotated })), "commit GPS226");
  assert.equal(journalOf(decide({ ...joining, journal: found })).content.revision, 7);
  const others: readonly FactsChange[] = [
    { ...joining, journal: { ...rotated, failed: keyOf({ ...seven, attempt: 0 }) } },
    { ...joining, order: "answered", journal: rotated },
    { order: "none", journal: rotated },
    { ...joining, journal: { ...found, content: noContent } },
  ];
  for (const change of others) assert.equal(brief(decide(change)), "nothing GPS201");
});

test("reports a failed order until a new attempt is ordered", () => {
  const journal = { ...before, failed: key };
  assert.equal(brief(decide({ journal })), `wait ${codes.rolledBack} Failed`);
  const order = { revision: 7, digest: "seven's", attempt: 9 };
  assert.equal(decide({ journal, order }).action, "commit");
});
