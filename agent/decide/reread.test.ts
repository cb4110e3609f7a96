/** Tables of decisions while the agent waits until the kubelet has had time to reread the file. */
import assert from "node:assert/strict";
import test from "node:test";
import {
  absent,
  type FactsChange,
  check,
  facts,
  follow,
  foreign,
  renewed,
  restarting,
  time,
  unit,
  decide,
  notAsked,
  idle,
  mounted,
  unanswered,
  seven,
  withdrawn,
} from "../facts/facts.fixture.ts";
import type { Journal } from "../journal/journal.ts";

const config = { restart: "Never" } as const;
const { owed: _owed, undo: _undo, ...rest } = restarting;
const waiting: Journal = { ...rest, renamed: time };
const after = (seconds: number): FactsChange => ({
  config,
  unit: notAsked,
  journal: waiting,
  time: { ...time, monotonic: time.monotonic + seconds * 1000 },
});

test("H17: if restarts are off, is Ready only 305 s after the file is in place, when the kubelet has had time to reread it", () => {
  const { steps, end } = follow({ config, file: absent, unit: notAsked });
  assert.deepEqual(steps, ["apply GPS226 → applying", "record GPS254 → restarting", "wait GPS254"]);
  assert.deepEqual(end.journal.kind === "journal" && end.journal.journal.renamed, time);
  check([
    ["at once", after(0), "wait GPS254"],
    ["a moment too early", after(304.9), "wait GPS254"],
    ["in time", after(305), "record GPS200 → applied"],
  ]);
});

test("does not restart the kubelet for a drift, even if the repair was interrupted or overwritten", () => {
  const repair = decide(facts({ journal: idle, file: foreign() }));
  assert.ok(repair.action === "apply" && repair.journal.rereads === "");
  const { journal } = repair;
  for (const file of [foreign(), absent]) {
    const again = decide(facts({ journal, file }));
    assert.ok(again.action === "apply");
    assert.deepEqual([again.journal.rereads, again.journal.matters], ["", false]);
  }
  const { steps } = follow({ journal, file: foreign() });
  assert.ok(!steps.some((step) => step.startsWith("restart")), steps.join(", "));
  const owes = decide(facts({ journal: { ...journal, matters: true }, file: foreign() }));
  assert.ok(owes.action === "apply" && owes.journal.matters);
});

test("does not wait with a withdrawal until the kubelet rereads the file, or until systemd answers", () => {
  const owned = { entries: [], rest: [] };
  const repaired = { ...idle, content: "none", rereads: "", renamed: time, owned };
  check([
    ["after a repair", { mounted: withdrawn, file: absent, journal: repaired }, "leave GPS224"],
    [
      "systemd stops answering while a restart is due for an older order",
      { mounted: withdrawn, journal: { ...restarting, content: "six" }, unit: unanswered },
      "apply GPS226 → applying",
    ],
    [
      "systemd stops answering while the change's restart is due",
      {
        mounted: withdrawn,
        journal: { ...restarting, content: "none" },
        file: absent,
        unit: unanswered,
      },
      "record GPS254 → applied",
    ],
    [
      "systemd stops answering while the change's restart is due, and the kubelet is down",
      {
        mounted: withdrawn,
        journal: { ...restarting, content: "none", owned: { entries: [], rest: [] } },
        file: absent,
        unit: unanswered,
        healthy: false,
      },
      "wait GPS210",
    ],
  ]);
});

test("reports how long the wait for the reread still lasts, and plans a round for the end of the wait", () => {
  const step = decide(facts(after(300.5)));
  assert.deepEqual([step.detail, step.again], ["5 s more", 4500]);
  assert.equal(decide(facts(after(1))).again, 10_000);
});

test("ends the wait for the reread if a kubelet process was started after the write", () => {
  check([
    [
      "the node was booted",
      { ...after(0), time: { boot: "another", monotonic: 5 } },
      "record GPS200 → applied",
    ],
    [
      "another process",
      { ...after(0), journal: { ...waiting, owed: "old" }, unit: renewed },
      "record GPS200 → applied",
    ],
    [
      "the same process",
      { ...after(0), journal: { ...waiting, owed: "old" }, unit },
      "wait GPS254",
    ],
  ]);
});

test("does not wait for a reread if a change has no new credentials, but continues an older wait", () => {
  const applying: Journal = { ...waiting, phase: "applying", matters: false };
  check([
    [
      "nothing new",
      { ...after(0), journal: { ...applying, renamed: undefined } },
      "record GPS200 → applied",
    ],
    ["an older wait", { ...after(10), journal: applying }, "wait GPS254"],
    ["an older wait is over", { ...after(305), journal: applying }, "record GPS200 → applied"],
  ]);
  const drifted = decide(facts({ ...after(200), file: absent }));
  assert.ok(drifted.action === "apply");
  assert.equal(drifted.journal.renamed, undefined);
});

test("waits for the reread if restarts are switched off while a restart is due", () => {
  assert.deepEqual(follow({ config, unit: notAsked, journal: restarting }).steps, [
    "record GPS254 → restarting",
    "wait GPS254",
  ]);
});

test("waits after a repaired drift until the kubelet has had time to reread the file, or until a new kubelet process runs", () => {
  const repaired: Journal = { ...idle, rereads: "", renamed: undefined };
  const noted = decide(facts({ journal: repaired, unit }));
  assert.ok(noted.action === "record");
  assert.deepEqual([noted.journal.rereads, noted.journal.renamed], [unit.invocation, time]);
  const later = (seconds: number, change: FactsChange = {}): FactsChange => ({
    journal: noted.journal,
    unit,
    time: { ...time, monotonic: time.monotonic + seconds * 1000 },
    ...change,
  });
  check([
    ["a moment too early", later(304.9), "wait GPS254"],
    ["in time", later(305), "record GPS200 → applied"],
    ["another process", later(1, { unit: renewed }), "record GPS200 → applied"],
    ["systemd does not answer", later(1, { unit: unanswered }), "wait GPS254"],
    [
      "the node was booted",
      later(1, { time: { boot: "2", monotonic: 1 } }),
      "record GPS200 → applied",
    ],
    [
      "the same content is ordered again",
      later(1, {
        order: { ...seven, revision: 8, digest: "eight's" },
        mounted: { ...mounted, revision: 8, digest: "eight's" },
      }),
      "record GPS226 → applied",
    ],
    ["drifted once more", later(1, { file: absent }), "apply GPS225 → applying"],
  ]);
  const over = decide(facts(later(305)));
  assert.ok(over.action === "record");
  assert.deepEqual([over.journal.rereads, over.journal.renamed], [undefined, undefined]);
});
