/** Rollback and quarantine, as tables. */
import assert from "node:assert/strict";
import test from "node:test";
import { decide } from "./decide.ts";
import type { Journal } from "./journal.ts";
import {
  absent,
  check,
  crashed,
  facts,
  hour,
  noBus,
  now,
  quarantine,
  renewed,
  restarting,
  reviving,
  rolledBack,
} from "./facts.fixture.ts";

test("after a rollback the kubelet is revived until it is proved, and only then the agent gives up", () => {
  const restoring: Journal = { ...restarting, phase: "restoring" };
  check([
    ["the new file is there still", { journal: restoring }, "restore GPS216 → restoring"],
    ["the old file is back", { journal: restoring, file: absent }, "record GPS217 → reviving"],
    ["… and the bus is gone", { journal: restoring, file: absent, unit: noBus }, "wait GPS210"],
    ["revive", { journal: reviving, file: absent }, "restart GPS217 → reviving"],
    [
      "again",
      { journal: { ...reviving, tried: 9, calls: [now - hour] }, unit: crashed, healthy: false },
      "restart GPS217 → reviving",
    ],
    [
      "not in a hurry",
      { journal: { ...reviving, tried: 9, calls: [now - 899_000] }, unit: crashed, healthy: false },
      "wait GPS220",
    ],
    ["it answers", { journal: reviving, unit: renewed, steady: { running: 4999, healthy: 4999 } }, "wait GPS215"],
    [
      "proved",
      { journal: reviving, unit: renewed, steady: { running: 5000, healthy: 5000 } },
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

test("quarantine: 10 minutes, doubling, to 6 hours; at most four restarts an hour; a new revision at once", () => {
  const late = { ...rolledBack, quarantine: { ...quarantine, since: now - 600_000 } };
  check([
    ["not over", { journal: rolledBack, file: absent }, "wait GPS219"],
    ["over", { journal: late, file: absent }, "apply GPS226 → applying"],
    [
      "over, but four restarts within the hour",
      { journal: { ...late, calls: [1, 2, 3, 4].map((n) => now - n * 60_000) }, file: absent },
      "wait GPS219",
    ],
    [
      "the clock was set back, our own time says over",
      {
        journal: { ...rolledBack, quarantine: { ...quarantine, since: now + hour } },
        file: absent,
        steady: { quarantine: 600_000 },
      },
      "apply GPS226 → applying",
    ],
    [
      "a new revision",
      { journal: { ...rolledBack, quarantine: { ...quarantine, revision: 6 } }, file: absent },
      "apply GPS226 → applying",
    ],
    [
      "another content",
      { journal: { ...rolledBack, quarantine: { ...quarantine, content: "six" } }, file: absent },
      "apply GPS226 → applying",
    ],
  ]);
  const lasting = [1, 2, 3, 4, 5, 6, 7, 60].map((failures) => {
    const journal = { ...reviving, quarantine: { ...quarantine, failures: failures - 1 } };
    const step = decide(facts({ journal, unit: renewed, steady: { running: 5000, healthy: 5000 } }));
    return "journal" in step ? (step.journal.quarantine?.lasts ?? 0) / 60_000 : 0;
  });
  assert.deepEqual(lasting, [10, 20, 40, 80, 160, 320, 360, 360]);
});
