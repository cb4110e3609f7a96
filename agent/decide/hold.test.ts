/** What a node makes of a halted rollout, as tables. */
import assert from "node:assert/strict";
import test from "node:test";
import {
  absent,
  idle,
  type FactsChange,
  check,
  crashed,
  facts,
  follow,
  foreign,
  mounted,
  quarantine,
  renewed,
  restarting,
  rolledBack,
  settling,
  stopped,
  written,
  decide,
  noBus,
} from "../facts/facts.fixture.ts";
import type { Document } from "../delivery/mount.ts";

/** Revision 8 holds, and carries what was served last: revision 7's document. */
const hold: Document = { ...mounted, revision: 8, digest: "eight's", intent: "hold" };
const config = { revision: 8, digest: "eight's" };
const carried: FactsChange = { mounted: hold, config };
/** It carries something else than what this node has. */
const other: Document = {
  ...hold,
  content: "other",
  desired: {
    entries: new Map([["other.io", { value: { auth: "b286eA==" }, original: false }]]),
    rest: new Map(),
  },
};
const empty: Document = {
  ...hold,
  content: "empty",
  desired: { entries: new Map(), rest: new Map() },
};

test("under a hold a node keeps what it has, whatever that is, is Ready, and restarts nothing", () => {
  const kept: readonly (readonly [when: string, change: FactsChange])[] = [
    ["what is carried", { ...carried, journal: idle }],
    ["the halted content, proved here", { mounted: other, config, journal: idle }],
    [
      "an older revision's",
      { mounted: other, config, journal: { ...idle, revision: 3, digest: "three's" } },
    ],
    [
      "an older agent's, without a digest",
      { mounted: other, config, journal: { ...idle, digest: undefined } },
    ],
    ["nothing, after a rollback", { ...carried, journal: rolledBack, file: absent }],
    ["a stranger's file, after a rollback", { ...carried, journal: rolledBack, file: foreign() }],
    ["the halted content, when nothing was ever served", { mounted: empty, config, journal: idle }],
  ];
  for (const [when, change] of kept) {
    const { steps, end } = follow(change);
    assert.deepEqual(steps, ["record GPS251 → applied", "nothing GPS251 ready"], when);
    assert.equal(end.file, facts(change).file, when);
    const journal = end.journal.kind === "journal" ? end.journal.journal : assert.fail();
    assert.deepEqual([journal.revision, journal.digest], [8, "eight's"], when);
    // The mount goes on to the next revision before the template does.
    const later = decide(
      facts({ ...change, journal, mounted: { ...mounted, revision: 9, digest: "nine's" } }),
    );
    assert.ok(later.ready, when);
  }
});

test("a rollback under the very hold is told before the node is Ready with what it had", () => {
  const failed = { ...rolledBack, quarantine: { ...quarantine, revision: 8, told: false } };
  assert.deepEqual(follow({ ...carried, journal: failed, file: absent }).steps, [
    "give up GPS218 → applied",
  ]);
  const told = { ...failed, quarantine: { ...failed.quarantine, told: true } };
  assert.deepEqual(follow({ ...carried, journal: told, file: absent }).steps, [
    "record GPS251 → applied",
    "nothing GPS251 ready",
  ]);
});

test("a node with nothing of ours applies what a hold carries; a hold that carries nothing writes nothing", () => {
  check([
    ["a joiner", { ...carried, file: absent }, "apply GPS226 → applying"],
    [
      "a joiner, and nothing was ever served",
      { mounted: empty, config, file: absent },
      "nothing GPS251 ready",
    ],
    [
      "… beside a stranger's file",
      { mounted: empty, config, file: written },
      "nothing GPS251 ready",
    ],
    [
      "… beside one that the kubelet cannot read",
      { mounted: empty, config, file: foreign("x") },
      "nothing GPS251 ready",
    ],
    [
      "… whose journal was lost",
      { mounted: empty, config, file: written, lost: true },
      "nothing GPS251 ready",
    ],
  ]);
});

test("drift under a hold is put right, without a restart, where the hold carries the node's own content, and told elsewhere", () => {
  const drifted = { journal: { ...idle, revision: 8, digest: "eight's" }, file: absent };
  const repaired = follow({ ...carried, ...drifted });
  assert.deepEqual(repaired.steps, [
    "apply GPS225 → applying",
    "record GPS200 → applied",
    "nothing GPS251 ready",
  ]);
  const nobody = follow({ ...carried, ...drifted, unit: noBus });
  assert.deepEqual(nobody.steps, repaired.steps, "nobody has to be asked");
  check([
    ["another content", { mounted: other, config, ...drifted }, "nothing GPS252 ready"],
    [
      "… of a kubelet that is down",
      { mounted: other, config, ...drifted, unit: stopped, healthy: false },
      "wait GPS221",
    ],
  ]);
});

test("a hold replaces a change under way like any newer revision; a running probation ends first", () => {
  const probation = { running: 5000, healthy: 5000 };
  check([
    [
      "being written",
      { mounted: other, config, journal: { ...restarting, phase: "applying" } },
      "apply GPS226 → applying",
    ],
    [
      "about to be restarted",
      { mounted: other, config, journal: restarting },
      "apply GPS226 → applying",
    ],
    ["on probation", { mounted: other, config, journal: settling, unit: renewed }, "wait GPS215"],
    [
      "proved",
      { mounted: other, config, journal: settling, unit: renewed, stopwatch: probation },
      "record GPS200 → applied",
    ],
    [
      "failed",
      { mounted: other, config, journal: settling, unit: crashed, healthy: false },
      "record GPS214 → restarting",
    ],
  ]);
  const back = follow({
    mounted: empty,
    config,
    journal: { ...restarting, phase: "applying" },
    unit: renewed,
  });
  assert.equal(back.end.file.kind, "absent");
  const journal = back.end.journal.kind === "journal" ? back.end.journal.journal : assert.fail();
  assert.equal(journal.undo, undefined);
  const gone = {
    mounted: empty,
    config,
    file: absent,
    journal: { ...idle, ...journal, phase: "applied" as const },
  };
  assert.deepEqual(follow({ ...gone }).steps.slice(-2), ["leave GPS251", "nothing GPS251 ready"]);
});
