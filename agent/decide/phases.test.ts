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
import { codes } from "../facts/step.ts";
import { noContent } from "../journal/journal.ts";

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
  ["lets systemd start a process that died", { unit: crashed }, "wait GPS214"],
  ["starts a process that only a request starts", { unit: stopped }, "restart GPS214"],
  ["watches a new process", { unit: renewed(4000) }, "wait GPS215"],
  ["is done after the probation", { unit: renewed(5000) }, "record GPS200"],
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
  return { ...restarting, written: ago(slow) };
}

for (const [name, change, expected] of cells)
  test(`restarting: ${name}`, () =>
    assert.equal(brief(decide({ journal: restarting, ...change })), expected));

const revivals: typeof cells = [
  ["waits while systemd does not answer", { unit: unanswered }, "wait GPS210"],
  ["ends with a living process", { unit: renewed(), healthz: "silent" }, "record GPS218"],
  ["ends with a starting process", { unit: starting, healthz: "nobody" }, "record GPS218"],
  ["lets systemd start a process that died", { unit: crashed }, "wait GPS213"],
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
];

for (const [name, change, expected] of revivals)
  test(`reviving: ${name}`, () =>
    assert.equal(brief(decide({ journal: reviving, ...change })), expected));

test("H18: restores the former content after three failed attempts, spaced by the start limit", () => {
  let journal = restarting;
  for (const tries of [2, 3]) {
    const dead = { ...stopped, invocation: `try ${tries}` };
    const asked = decide({ journal, unit: dead });
    assert.equal(asked.action, "restart");
    journal = journalOf(asked) as typeof restarting;
    assert.equal(journal.tries, tries);
    const soonDead = { ...stopped, invocation: `try ${tries + 1}` };
    assert.equal(decide({ journal, unit: soonDead }).action, tries < 3 ? "wait" : "commit");
    journal = { ...journal, asked: ago(10_001) };
  }
  const rolledBack = decide({ journal, unit: stopped });
  assert.equal(brief(rolledBack), "commit GPS216");
  const { content, phase } = journalOf(rolledBack);
  assert.deepEqual([content, phase], [restarting.back, "reviving"]);
  assert.ok(rolledBack.action === "commit" && "bytes" in rolledBack.commit.file);
  assert.match(rolledBack.commit.file.bytes.toString(), /team\.io.*dTpvbGQ=/);
});

test("keeps what another program wrote during a change that is rolled back, also for our registry", () => {
  const journal = { ...restarting, back: noContent, tries: 3 };
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

test("names the failed content although it was taken without an order", () => {
  const step = decide({ journal: before, order: "none", contents: served });
  assert.equal(step.action, "nothing");
  const first = journalOf(decide({ order: "none", contents: served }));
  assert.ok(first.phase === "restarting");
  assert.equal(first.order, keyOf({ ...seven, attempt: 0 }));
});

test("H18: counts a request after which no process was started", () => {
  const dead = { ...stopped, invocation: "old" };
  const tried = (tries: number) => ({ ...restarting, tries, asked: ago(10_001) });
  assert.deepEqual(
    [1, 2, 3].map((tries) => decide({ journal: tried(tries), unit: dead }).action),
    ["restart", "restart", "commit"],
  );
});

test("H18: counts the restarts by systemd as attempts, also if it missed the deaths between them", () => {
  const after = (restarts: number, unitFact = renewed()) =>
    decide({ journal: restarting, unit: { ...unitFact, restarts } }).action;
  assert.deepEqual(
    [1, 2].map((restarts) => after(restarts, crashed)),
    ["wait", "commit"],
  );
  assert.deepEqual(
    [1, 2, 3].map((restarts) => after(restarts)),
    ["wait", "wait", "commit"],
  );
});

test("does not count restarts by systemd from before the change", () => {
  const old = { invocation: "old", restarts: 57 };
  const journal = { ...restarting, old };
  assert.equal(decide({ journal, unit: { ...crashed, restarts: 58 } }).action, "wait");
  assert.equal(decide({ journal, unit: { ...crashed, restarts: 0 } }).action, "wait");
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

test("reports the proof at once if the kubelet was started after the write", () => {
  const journal = { ...idle, written: ago(2000) };
  const read = decide({ journal, unit: renewed(1000) });
  assert.equal(brief(read), "record GPS200");
  assert.equal(brief(decide({ journal: journalOf(read) })), "nothing GPS200 Proved");
  assert.equal(brief(decide({ journal, unit: renewed(3000) })), "wait GPS254");
  const rebooted = { ...idle, written: { boot: "another", monotonic: 0 } };
  assert.equal(brief(decide({ journal: rebooted, unit })), "nothing GPS200 Proved");
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
  ];
  for (const change of others) assert.equal(brief(decide(change)), "nothing GPS201");
});

test("reports a failed order until a new attempt is ordered", () => {
  const journal = { ...before, failed: key };
  assert.equal(brief(decide({ journal })), `wait ${codes.rolledBack} Failed`);
  const order = { revision: 7, digest: "seven's", attempt: 9 };
  assert.equal(decide({ journal, order }).action, "commit");
});
