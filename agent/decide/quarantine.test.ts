/** Tables of decisions about rollback and quarantine. */
import assert from "node:assert/strict";
import test from "node:test";
import type { Order } from "#contract/order.ts";
import type { Journal } from "../journal/journal.ts";
import {
  absent,
  check,
  crashed,
  facts,
  follow,
  hour,
  unanswered,
  now,
  renewed,
  restarting,
  reviving,
  rolledBack,
  rolledBackUnasked,
  seven,
  unasked,
  decide,
} from "../facts/facts.fixture.ts";

/** systemd does not start the kubelet any more. */
const gaveUp = { ...crashed, active: "failed", sub: "failed", result: "start-limit-hit" };

test("after a rollback, revives the kubelet until it has passed its probation, and only then reports the rollback", () => {
  const restoring: Journal = { ...restarting, phase: "restoring" };
  check([
    ["the new file is still there", { journal: restoring }, "restore GPS216"],
    ["the old file is back", { journal: restoring, file: absent }, "record GPS217 → reviving"],
    [
      "the old file is back, and systemd does not answer",
      { journal: restoring, file: absent, unit: unanswered },
      "record GPS217 → reviving",
    ],
    [
      "reviving, but systemd does not answer",
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
      "not yet, because the pauses grow",
      { journal: { ...reviving, tried: 9, calls: [now - 899_000] }, unit: gaveUp, healthy: false },
      "wait GPS220",
    ],
    [
      "once an hour if systemd itself keeps starting the kubelet",
      { journal: { ...reviving, tried: 1, calls: [now - hour] }, unit: crashed, healthy: false },
      "restart GPS217 → reviving",
    ],
    [
      "less than an hour after the last restart",
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
    ["reported", { journal: rolledBack, file: absent }, "wait GPS218 Failed"],
  ]);
});

/**
 * The agent recognizes entries of the failed change by these values, also in an old copy of the
 * file.
 */
const former = restarting.owned.entries.map(({ key, wrote }) => ({ key, wrote }));

test("after a rollback, records the failed change's entries as formerly ours, and starts the quarantine when the kubelet has passed its probation", () => {
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

test("after a rollback, does not try the content again for an order of the same content that came during the change", () => {
  const again = { ...seven, attempt: seven.attempt + 1 };
  const other = { ...again, digest: "other" };
  const lives = { file: absent, unit: renewed, stopwatch: { running: 5000, healthy: 5000 } };
  for (const grant of [restarting.grant, undefined]) {
    const step = decide(
      facts({ journal: { ...restarting, grant, phase: "restoring" }, file: absent }),
    );
    assert.ok(step.action === "record");
    const { journal } = step;
    const after = (order: Order) => follow({ ...lives, journal, order });
    const { steps, end } = after(again);
    assert.equal(steps.at(-1), "wait GPS218 Failed");
    const unrelated = after(other).end.journal;
    assert.ok(unrelated.kind === "journal");
    assert.equal(unrelated.journal.quarantine?.grant, grant);
    const retried = decide({ ...end, order: { ...again, attempt: again.attempt + 1 } });
    assert.equal(retried.action, "apply");
  }
});

test("still lists the provider's answer as ours after a rollback, so that a withdrawal empties the answer in any mode", () => {
  const ownedWithAnswer = { ...restarting.owned, answer: "seven's answer", flags: true as const };
  const restoring: Journal = { ...restarting, phase: "restoring", owned: ownedWithAnswer };
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

test("ends a revival once a kubelet process has run for three minutes, even if its healthz does not answer", () => {
  const silent = { journal: reviving, file: absent, unit: renewed, healthy: false };
  check([
    ["young", { ...silent, stopwatch: { running: 31_000 } }, "wait GPS213"],
    ["not yet", { ...silent, stopwatch: { running: 179_999 } }, "wait GPS213"],
    ["alive", { ...silent, stopwatch: { running: 180_000 } }, "record GPS218 → applied"],
  ]);
});

test("without an order, retries failed content after 10 minutes (each failure doubles this time, up to 6 hours), and takes new content at once", () => {
  const { quarantine } = rolledBackUnasked;
  assert.ok(quarantine);
  const late = { ...rolledBack, quarantine: { ...quarantine, since: now - 600_000 } };
  check([
    ["not over", { ...unasked, journal: rolledBackUnasked, file: absent }, "wait GPS219"],
    ["over", { ...unasked, journal: late, file: absent }, "apply GPS226 → applying"],
    [
      "the quarantine is over, but there were four restarts within the hour",
      {
        ...unasked,
        journal: { ...late, calls: [1, 2, 3, 4].map((n) => now - n * 60_000) },
        file: absent,
      },
      "wait GPS219",
    ],
    [
      "the clock was set back, but this process measured the whole quarantine",
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
