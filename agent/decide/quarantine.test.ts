/** Rollback and quarantine, as tables. */
import assert from "node:assert/strict";
import test from "node:test";
import type { Journal } from "../journal/journal.ts";
import {
  absent,
  check,
  crashed,
  facts,
  hour,
  unanswered,
  now,
  quarantine,
  renewed,
  restarting,
  reviving,
  rolledBack,
  rolledBackUnasked,
  unasked,
  decide,
} from "../facts/facts.fixture.ts";

/** Systemd starts it no more. */
const gaveUp = { ...crashed, active: "failed", sub: "failed", result: "start-limit-hit" };

test("after a rollback the kubelet is revived until it is proved, and only then the agent gives up", () => {
  const restoring: Journal = { ...restarting, phase: "restoring" };
  check([
    ["the new file is there still", { journal: restoring }, "restore GPS216"],
    ["the old file is back", { journal: restoring, file: absent }, "record GPS217 → reviving"],
    [
      "… and systemd does not answer",
      { journal: restoring, file: absent, unit: unanswered },
      "record GPS217 → reviving",
    ],
    [
      "revive, but nobody can be asked",
      { journal: reviving, file: absent, unit: unanswered },
      "wait GPS210",
    ],
    ["revive", { journal: reviving, file: absent }, "restart GPS217 → reviving"],
    [
      "again",
      { journal: { ...reviving, tried: 9, calls: [now - 900_000] }, unit: gaveUp, healthy: false },
      "restart GPS217 → reviving",
    ],
    [
      "not in a hurry",
      { journal: { ...reviving, tried: 9, calls: [now - 899_000] }, unit: gaveUp, healthy: false },
      "wait GPS220",
    ],
    [
      "once an hour where systemd itself starts it again and again",
      { journal: { ...reviving, tried: 1, calls: [now - hour] }, unit: crashed, healthy: false },
      "restart GPS217 → reviving",
    ],
    [
      "… and not before",
      {
        journal: { ...reviving, tried: 1, calls: [now - hour + 1] },
        unit: crashed,
        healthy: false,
      },
      "wait GPS220",
    ],
    [
      "it answers",
      { journal: reviving, unit: renewed, stopwatch: { running: 4999, healthy: 4999 } },
      "wait GPS215",
    ],
    [
      "proved",
      { journal: reviving, unit: renewed, stopwatch: { running: 5000, healthy: 5000 } },
      "record GPS218 → applied",
    ],
    [
      "told",
      { journal: { ...rolledBack, quarantine: { ...quarantine, told: false } }, file: absent },
      "give up GPS218 → applied",
    ],
    ["told once", { journal: rolledBack, file: absent }, "wait GPS219"],
  ]);
});

/** What the change that failed has written: it is recognized in a copy. */
const former = restarting.owned.entries.map(({ key, wrote }) => ({ key, wrote }));

test("what was ours before the change is ours again when the file is back, and the content's time begins with the proof", () => {
  const four = { entries: [{ key: "four.io", wrote: ["x"], displaced: [] }], rest: [] };
  const undo = {
    file: { absent: true as const },
    owned: four,
    revision: 4,
    digest: "four's",
    content: "four",
  };
  const step = decide(
    facts({ journal: { ...restarting, phase: "restoring", undo }, file: absent }),
  );
  assert.ok(step.action === "record");
  const { owned, revision, digest, content, phase, owed } = step.journal;
  assert.deepEqual(
    { owned, revision, digest, content, phase, owed },
    {
      owned: { ...four, former },
      revision: 4,
      digest: "four's",
      content: "four",
      phase: "reviving",
      owed: "old",
    },
  );
  assert.equal(step.journal.undo, undefined);
  const later = { now: now + hour, unit: renewed, stopwatch: { running: 5000, healthy: 5000 } };
  const proved = decide(facts({ ...later, journal: step.journal }));
  assert.ok(proved.action === "record");
  assert.deepEqual(
    [proved.journal.phase, proved.journal.quarantine?.since, proved.journal.quarantine?.content],
    ["applied", now + hour, "seven"],
  );
});

test("an answer that a rollback leaves where it is stays ours: the withdrawal, in whatever mode, has to empty it", () => {
  const given = { ...restarting.owned, answer: "seven's answer", flags: true as const };
  const restoring: Journal = { ...restarting, phase: "restoring", owned: given };
  const ownedAfter = (journal: Journal) => {
    const step = decide(facts({ journal, file: absent }));
    return step.action === "record" ? step.journal.owned : assert.fail(step.action);
  };
  const none = { entries: [], rest: [], former };
  assert.deepEqual(ownedAfter(restoring), { ...none, answer: "seven's answer" });
  const { undo = assert.fail() } = restoring;
  const six = { ...none, answer: "six's answer" };
  assert.deepEqual(ownedAfter({ ...restoring, undo: { ...undo, owned: six } }), six);
});

test("a revival that an older agent began is ended like any other: what was ours before is ours again", () => {
  const older: Journal = { ...restarting, phase: "reviving" };
  const step = decide(
    facts({
      journal: older,
      unit: renewed,
      stopwatch: { running: 5000, healthy: 5000 },
      file: absent,
    }),
  );
  assert.ok(step.action === "record" && step.code === "GPS218");
  assert.deepEqual(step.journal.owned, { entries: [], rest: [], former });
  assert.equal(step.journal.quarantine?.content, "seven");
});

test("a revival ends when one process has run for three minutes, whatever its healthz says, and it is never ended by us", () => {
  const silent = { journal: reviving, file: absent, unit: renewed, healthy: false };
  check([
    ["young", { ...silent, stopwatch: { running: 31_000 } }, "wait GPS213"],
    ["not yet", { ...silent, stopwatch: { running: 179_999 } }, "wait GPS213"],
    ["alive", { ...silent, stopwatch: { running: 180_000 } }, "record GPS218 → applied"],
  ]);
});

test("quarantine of what was not granted: 10 minutes, doubling, to 6 hours; at most four restarts an hour; a new revision at once", () => {
  const { quarantine } = rolledBackUnasked;
  assert.ok(quarantine);
  const late = { ...rolledBack, quarantine: { ...quarantine, since: now - 600_000 } };
  check([
    ["not over", { ...unasked, journal: rolledBackUnasked, file: absent }, "wait GPS219"],
    ["over", { ...unasked, journal: late, file: absent }, "apply GPS226 → applying"],
    [
      "over, but four restarts within the hour",
      {
        ...unasked,
        journal: { ...late, calls: [1, 2, 3, 4].map((n) => now - n * 60_000) },
        file: absent,
      },
      "wait GPS219",
    ],
    [
      "the clock was set back, our own time says over",
      {
        ...unasked,
        journal: { ...rolledBack, quarantine: { ...quarantine, since: now + hour } },
        file: absent,
        stopwatch: { quarantine: 600_000 },
      },
      "apply GPS226 → applying",
    ],
    [
      "a new revision",
      {
        ...unasked,
        journal: { ...rolledBack, quarantine: { ...quarantine, revision: 6 } },
        file: absent,
      },
      "apply GPS226 → applying",
    ],
    [
      "another content",
      {
        ...unasked,
        journal: { ...rolledBack, quarantine: { ...quarantine, content: "six" } },
        file: absent,
      },
      "apply GPS226 → applying",
    ],
  ]);
  const lasting = [1, 2, 3, 4, 5, 6, 7, 60].map((failures) => {
    const journal: Journal = {
      ...restarting,
      phase: "restoring",
      quarantine: { ...quarantine, failures: failures - 1 },
    };
    const step = decide(facts({ journal, file: absent }));
    return "journal" in step ? (step.journal.quarantine?.lasts ?? 0) / 60_000 : 0;
  });
  assert.deepEqual(lasting, [10, 20, 40, 80, 160, 320, 360, 360]);
});
