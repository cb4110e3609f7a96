/** The decisions as tables: facts in, action and reason out. */
import assert from "node:assert/strict";
import test from "node:test";
import { firstJournal, type Journal } from "../journal/journal.ts";
import { readDocument } from "../delivery/config-json/document.ts";
import { foundOf } from "../delivery/config-json/plan.ts";
import type { FoundFile } from "../delivery/delivery.ts";
import type { Facts } from "../facts/facts.ts";
import {
  hour,
  now,
  absent,
  mounted,
  withdrawn,
  unit,
  renewed,
  crashed,
  stopped,
  limited,
  unanswered,
  written,
  foreign,
  idle,
  restarting,
  settling,
  reviving,
  rolledBack,
  tried,
  facts,
  follow,
  check,
  decide,
  notAsked,
  type FactsChange,
  decideByQuestions,
  unordered,
} from "../facts/facts.fixture.ts";

test("decides these cases before all others", () => {
  check([
    ["two agents on one node", { alone: false, journal: idle }, "wait GPS205"],
    [
      "a journal from a newer agent",
      { journal: { kind: "newer", why: "version 9", owes: false } },
      "wait GPS222 Refused",
    ],
    [
      "an unreadable journal",
      { journal: { kind: "corrupt", why: "not JSON" } },
      "set aside GPS223",
    ],
    [
      "config.json is a symlink",
      { file: { kind: "refused", why: "it is a symbolic link" } },
      "wait GPS206 Refused",
    ],
    ["config.json changes while it is read", { file: { kind: "changing" } }, "wait GPS209"],
  ]);
});

test("requests only facts that a rule needs", () => {
  const newer = (owes: boolean): Facts["journal"] => ({ kind: "newer", why: "version 9", owes });
  const rows: readonly (readonly [when: string, change: FactsChange, ...asked: string[]])[] = [
    ["at rest", { journal: idle }, "mounted", "healthz"],
    ["at rest, without an order", { ...unordered, journal: idle }, "mounted", "healthz"],
    ["nothing was ever there", { mounted: withdrawn, file: absent }, "mounted"],
    ["in quarantine", { journal: rolledBack, file: absent }, "mounted"],
    ["the Secret lags", { mounted: { ...mounted, revision: 6 }, file: absent }, "mounted"],
    ["a change begins", { file: absent }, "mounted", "kubelet"],
    ["drift", { journal: idle, file: absent }, "mounted", "kubelet"],
    ["not JSON for a moment", { file: foreign("not JSON") }, "mounted"],
    ["a change under way", { journal: restarting }, "kubelet", "mounted"],
    ["a rollback", { journal: { ...restarting, phase: "restoring" } }, "kubelet"],
    ["two agents", { alone: false, journal: restarting }],
    ["an unreadable journal", { journal: { kind: "corrupt", why: "" } }],
    ["a newer agent's journal", { journal: newer(false) }],
    ["a newer agent's journal, and a restart is due", { journal: newer(true) }, "kubelet"],
    ["nothing to take", unordered, "mounted", "kubelet"],
  ];
  for (const [when, change, ...asked] of rows)
    assert.deepEqual(decideByQuestions(facts(change)).asked, asked, when);
});

test("applies only the ordered revision", () => {
  check([
    ["not mounted yet", { mounted: { kind: "incomplete", why: "ENOENT" } }, "wait GPS202"],
    ["the Secret lags", { mounted: { ...mounted, revision: 6 }, file: absent }, "wait GPS203"],
    ["the Secret is ahead", { mounted: { ...mounted, revision: 8 }, file: absent }, "wait GPS203"],
    [
      "the Secret is ahead of the content in force",
      { mounted: { ...mounted, revision: 8 }, journal: idle },
      "nothing GPS200 Proved",
    ],
    [
      "the Secret is ahead, and the file has drifted",
      { mounted: { ...mounted, revision: 8 }, journal: idle, file: absent },
      "nothing GPS252",
    ],
    [
      "the Secret is ahead, and an older revision is in force",
      { mounted: { ...mounted, revision: 8 }, journal: { ...idle, revision: 6 } },
      "nothing GPS200 Proved",
    ],
    [
      "a bad document",
      { mounted: { kind: "refused", why: "x", revision: 7 }, file: absent },
      "wait GPS204",
    ],
    [
      "a restart that is due needs no document",
      { mounted: { ...mounted, revision: 8 }, journal: restarting },
      "restart GPS212 → restarting",
    ],
    [
      "the probation after the restart needs no document",
      { mounted: { ...mounted, revision: 8 }, journal: settling, unit: renewed },
      "wait GPS215",
    ],
  ]);
});

test("identifies a revision by number and digest: the same number with other content is another revision", () => {
  const otherDigest = { config: { digest: "restored" } };
  const lagging: Facts["mounted"] = { kind: "incomplete", why: "ENOENT" };
  check([
    [
      "the Secret has caught up",
      { mounted: { ...mounted, digest: "restored" }, ...otherDigest, file: absent },
      "apply GPS226 → applying",
    ],
    ["the Secret lags", { ...otherDigest, file: absent }, "wait GPS203"],
    [
      "the Secret lags, and the journal has the same number",
      { ...otherDigest, journal: idle },
      "nothing GPS200 Proved",
    ],
    [
      "the Secret is missing, and the journal has the same number",
      { ...otherDigest, mounted: lagging, journal: idle },
      "wait GPS202",
    ],
    [
      "the Secret is missing, and the journal matches the order",
      { mounted: lagging, journal: idle },
      "nothing GPS200 Proved",
    ],
    [
      "the journal has the same number, but other content is mounted",
      {
        mounted: { ...mounted, digest: "restored", content: "two" },
        ...otherDigest,
        journal: idle,
      },
      "record GPS226 → applied",
    ],
    [
      "the probation belongs to other content with the same number",
      {
        ...otherDigest,
        journal: settling,
        unit: renewed,
        stopwatch: { running: 4000, healthy: 4000 },
      },
      "wait GPS215",
    ],
  ]);
});

test("still lists an entry that the new content lacks as ours until config.json lacks the entry too", () => {
  const entries = new Map([["b.io", { value: { auth: "dTpi" }, original: false }]]);
  const next = { ...mounted, content: "b", desired: { entries, rest: new Map() } };
  const begun = decide(facts({ mounted: next, journal: { ...idle, revision: 6 } }));
  assert.ok(begun.action === "apply");
  assert.deepEqual(begun.journal.owned.entries.map(({ key }) => key).toSorted(), ["a.io", "b.io"]);
  const again = decide(facts({ mounted: next, journal: begun.journal }));
  assert.ok(again.action === "apply" && !("absent" in again.plan.file));
  assert.deepEqual(JSON.parse(again.plan.file.bytes.toString()), {
    auths: { "b.io": { auth: "dTpi" } },
  });
  const { end } = follow({ mounted: next, journal: { ...idle, revision: 6 } });
  const journal = end.journal.kind === "journal" ? end.journal.journal : assert.fail();
  assert.equal(journal.phase, "applying");
  const placed = decide(end);
  assert.ok(placed.action === "restart");
  assert.deepEqual(
    placed.journal.owned.entries.map(({ key }) => key),
    ["b.io"],
  );
});

test("recognizes our entries in the file after our folder was deleted, and removes them on withdrawal", () => {
  const again = follow({ journal: { kind: "none" }, file: written });
  assert.deepEqual(again.steps, ["record GPS226 → applied", "nothing GPS200 Proved"]);
  const { journal, file } = again.end;
  const { steps, end } = follow({ journal, file, mounted: withdrawn });
  assert.equal(end.file, absent, steps.join(", "));
});

test("after the journal was lost, confirms no withdrawal while an entry in the file might be ours", () => {
  const unverified = {
    ...idle,
    content: "none",
    unverified: true,
    owned: { entries: [], rest: [] },
  };
  check([
    ["the journal is lost", { mounted: withdrawn, lost: true, leftovers: true }, "wait GPS250"],
    [
      "the journal is lost, and config.json is missing",
      { mounted: withdrawn, lost: true, file: absent },
      "record GPS226 → applying",
    ],
    [
      "the journal was lost, and an administrator has checked",
      { mounted: withdrawn, leftovers: true },
      "leave GPS224",
    ],
    [
      "a new journal after the loss",
      { mounted: withdrawn, lost: true, journal: unverified },
      "wait GPS250",
    ],
    [
      "a new journal after the loss, and config.json is missing",
      { mounted: withdrawn, lost: true, journal: unverified, file: absent },
      "leave GPS224",
    ],
    [
      "a new journal after the loss, and an administrator has checked",
      { mounted: withdrawn, journal: unverified },
      "leave GPS224",
    ],
    [
      "a new journal without content after the loss",
      {
        mounted: withdrawn,
        lost: true,
        journal: { ...firstJournal({ absent: true }), unverified: true },
      },
      "record GPS226 → applied",
    ],
    [
      "a new journal that lists all of our entries, after the old journal was lost",
      { mounted: withdrawn, lost: true, journal: { ...unverified, unverified: undefined } },
      "leave GPS224",
    ],
  ]);
  const doubtful = decide(facts({ lost: true, file: absent }));
  assert.ok(doubtful.action === "apply" && doubtful.journal.unverified === true);
  const verified = decide(facts({ lost: true }));
  assert.ok(verified.action === "record" && verified.journal.unverified !== true);
  const hidden = { ...written, answer: { unseen: "it is behind a link" } };
  const unseen = decide(facts({ lost: true, file: hidden }));
  assert.ok(unseen.action === "record" && unseen.journal.unverified === true);
  // The entry for b.io might be from a revision that was lost with the journal.
  const more = { "a.io": { auth: "dTpw" }, "b.io": { auth: "dTpvbGQ=" } };
  const besides = decide(facts({ lost: true, file: holding(more) }));
  assert.ok(besides.action === "record" && besides.journal.unverified === true);
  const { steps } = follow({
    mounted: withdrawn,
    lost: true,
    journal: { ...besides.journal, phase: "applied", matters: false },
    file: holding({ "b.io": more["b.io"] }),
  });
  assert.equal(steps.at(-1), "wait GPS250");
  const later = decide(facts({ lost: true, journal: { ...idle, revision: 6 } }));
  assert.ok(
    later.action === "record" && later.journal.phase === "applied",
    "a new journal counts again",
  );
});

/** The planned file, but with mode 0644. */
const { now: asWritten } = written;
assert.ok("bytes" in asWritten);
const open = holding(JSON.parse(asWritten.bytes.toString()).auths, 0o644);

function holding(auths: object, mode = 0o600): FoundFile {
  const bytes = Buffer.from(JSON.stringify({ auths }));
  const reading = readDocument(bytes);
  assert.ok(reading.kind === "document");
  const { document } = reading;
  return foundOf({ kind: "file", identity: "2", bytes, mode, document, digest: "2" });
}

test("writes config.json only if systemd answers", () => {
  check([
    ["all is well", { file: absent }, "apply GPS226 → applying"],
    ["systemd does not answer", { file: absent, unit: unanswered }, "wait GPS210 Refused"],
    [
      "unit not found",
      { file: absent, unit: { ...unit, load: "not-found" } },
      "wait GPS211 Refused",
    ],
    ["unit masked", { file: absent, unit: { ...unit, load: "masked" } }, "wait GPS211 Refused"],
    ["kubelet down", { file: absent, unit: stopped, healthy: false }, "wait GPS230 Refused"],
    ["healthz off, or on another port", { file: absent, healthy: false }, "wait GPS221 Refused"],
    [
      "drift, and the kubelet's unit is unknown",
      { file: absent, journal: idle, unit: { unfound: "" } },
      "apply GPS225 → applying",
    ],
    [
      "drift while a change is under way, and the kubelet is down",
      { file: absent, journal: restarting, unit: stopped, healthy: false },
      "apply GPS226 → applying",
    ],
    [
      "with the policy Never, systemd is not asked",
      { file: absent, unit: notAsked, config: { restart: "Never" } },
      "apply GPS226 → applying",
    ],
    ["a file with the same meaning is only recorded", { file: written }, "record GPS226 → applied"],
    ["void for a moment", { file: foreign("not JSON"), stopwatch: { file: 1999 } }, "wait GPS207"],
    [
      "void for good",
      { file: foreign("not JSON"), stopwatch: { file: 2000 } },
      "apply GPS226 → applying",
    ],
    ["drift", { file: absent, journal: idle }, "apply GPS225 → applying"],
    ["drift again and again", { file: absent, journal: idle, writeIn: 900 }, "wait GPS225"],
    ["only the file's mode drifts", { file: open, journal: idle }, "apply GPS226 → applying"],
    [
      "only the file's mode drifts again: the kubelet lacks nothing",
      { file: open, journal: idle, writeIn: 900 },
      "nothing GPS200 Proved",
    ],
    [
      "the same content under a new revision",
      { journal: { ...idle, revision: 6 } },
      "record GPS226 → applied",
    ],
    [
      "killed before the rename",
      { file: absent, journal: { ...restarting, phase: "applying" } },
      "apply GPS226 → applying",
    ],
    [
      "killed after the rename",
      { journal: { ...restarting, phase: "applying" } },
      "restart GPS212 → restarting",
    ],
    [
      "killed after the rename, and another start is under way",
      { journal: { ...restarting, phase: "applying" }, unit: { ...unit, busy: true } },
      "record GPS212 → restarting",
    ],
    [
      "killed after the file was written again, and the next attempt is not due",
      { journal: { ...tried(1, 100), phase: "applying" }, unit: crashed, healthy: false },
      "record GPS212 → restarting",
    ],
    [
      "killed after the rename, and systemd does not answer",
      { journal: { ...restarting, phase: "applying" }, unit: unanswered },
      "wait GPS210",
    ],
    [
      "killed after the rename, and the policy is Never",
      { journal: { ...restarting, phase: "applying" }, config: { restart: "Never" } },
      "record GPS254 → restarting",
    ],
    [
      "killed after the rename, and the kubelet sees no change",
      { journal: { ...idle, phase: "applying" } },
      "record GPS200 → applied",
    ],
    ["journal lost, so a restart might be due", { lost: true }, "record GPS226 → applying"],
  ]);
});

test("stays Ready at rest while the kubelet answers, and does not start a kubelet that was stopped", () => {
  check([
    ["in force", { journal: idle }, "nothing GPS200 Proved"],
    [
      "in force, systemd was not asked",
      { journal: idle, unit: undefined },
      "nothing GPS200 Proved",
    ],
    ["kubelet stopped", { journal: idle, unit: stopped, healthy: false }, "wait GPS221"],
    [
      "withdrawn, our entry is still there",
      { journal: idle, mounted: withdrawn },
      "apply GPS226 → applying",
    ],
    [
      "withdrawn and restored",
      { journal: { ...idle, content: "none" }, mounted: withdrawn, file: absent },
      "leave GPS224",
    ],
    [
      "withdrawn, nothing was ever there",
      { mounted: withdrawn, file: absent },
      "nothing GPS224 Removed",
    ],
    [
      "withdrawn, our file could never be written",
      { mounted: withdrawn, file: { kind: "refused", why: "" } },
      "nothing GPS224 Removed",
    ],
    [
      "withdrawn, and the kubelet is down",
      { mounted: withdrawn, file: absent, healthy: false },
      "nothing GPS224 Removed",
    ],
    ["withdrawn, another program's file", { mounted: withdrawn }, "nothing GPS224 Removed"],
    [
      "withdrawn, and killed before our folder was removed",
      { mounted: withdrawn, file: absent, leftovers: true },
      "leave GPS224",
    ],
    [
      "withdrawn, and the journal was lost",
      { mounted: withdrawn, file: absent, leftovers: true, lost: true },
      "record GPS226 → applying",
    ],
  ]);
});

test("reports a refusal only while no change is under way", () => {
  const link: Facts["file"] = { kind: "refused", why: "it is a symbolic link" };
  const missing = { file: absent, unit: { ...unit, load: "not-found" } };
  const refused = (change: Parameters<typeof facts>[0]) => {
    const step = decide(facts(change));
    return "result" in step && step.result === "Refused";
  };
  assert.deepEqual(
    [refused({ file: link }), refused({ file: link, journal: idle }), refused(missing)],
    [true, true, true],
  );
  assert.equal(refused({ file: link, journal: { ...restarting, phase: "applying" } }), false);
  assert.equal(refused({ ...missing, journal: { ...restarting, phase: "applying" } }), false);
});

test("does not restart the kubelet for a drift, and restarts it at most three times an hour during a change", () => {
  const owes = (journal: Journal, calls: number[]): string => {
    const step = decide(facts({ journal: { ...journal, calls }, unit: renewed, file: foreign() }));
    assert.ok(step.action === "apply");
    return step.journal.matters ? "restart" : step.journal.rereads === "" ? "reread" : "nothing";
  };
  const often = [now - 3000, now - 2000, now - 1000];
  const seldom = [now - 2 * hour, now - 2000, now - 1000];
  assert.deepEqual([owes(idle, []), owes(idle, often)], ["reread", "reread"]);
  assert.deepEqual([owes(settling, seldom), owes(settling, often)], ["restart", "reread"]);
});

test("is Ready only if the file is in place, the kubelet has passed its probation, and healthz answers", () => {
  const files = [absent, written, foreign()];
  const journals = [
    undefined,
    idle,
    restarting,
    settling,
    reviving,
    rolledBack,
    { ...restarting, phase: "restoring" as const },
  ];
  const units: Facts["unit"][] = [unit, renewed, crashed, stopped, limited, unanswered, notAsked];
  let seen = 0;
  for (const file of files)
    for (const journal of journals)
      for (const unit of units)
        for (const healthy of [true, false])
          for (const source of [mounted, { ...mounted, revision: 8 }]) {
            const step = decide(
              facts({ file, unit, healthy, mounted: source, ...(journal && { journal }) }),
            );
            if (!("result" in step) || step.result !== "Proved") continue;
            seen += 1;
            assert.ok(healthy);
            assert.equal(file, written);
            assert.ok(journal === idle || (journal === settling && unit === renewed));
          }
  assert.ok(seen > 0);
});

test("can undo a change, but not a withdrawal, because the old bytes contain the withdrawn credentials", () => {
  const undoOf = (change: FactsChange) => {
    const step = decide(facts(change));
    return step.action === "apply" ? step.journal.undo : assert.fail(step.action);
  };
  assert.notEqual(undoOf({ journal: { ...idle, content: "six" }, file: absent }), undefined);
  const taken = { journal: idle, mounted: withdrawn, file: written };
  assert.equal(undoOf(taken), undefined);
});

test("keeps no undo if a withdrawal replaces a change, even if another program already removed our entries", () => {
  for (const journal of [{ ...restarting, phase: "applying" } as const, restarting, settling]) {
    assert.ok(journal.undo, "the change under way has an undo");
    const change = { journal, mounted: withdrawn, file: absent, unit: crashed };
    const step = decide(facts(change));
    const next = "journal" in step ? step.journal : assert.fail(step.action);
    assert.equal(next.content, withdrawn.content);
    assert.equal(next.undo, undefined, journal.phase);
  }
});
