/** The phase table, cell by cell, and cases that were once missing in it. */
import assert from "node:assert/strict";
import test from "node:test";
import type { Facts } from "../facts/facts.ts";
import {
  absent,
  check,
  idle,
  type FactsChange,
  crashed,
  facts,
  follow,
  limited,
  mounted,
  now,
  unanswered,
  quarantine,
  renewed,
  restarting,
  reviving,
  settling,
  seven,
  stopped,
  tried,
  unit,
  withdrawn,
  written,
  decide,
  notAsked,
  summaryOf,
  stepOf,
} from "../facts/facts.fixture.ts";
import type { Journal } from "../journal/journal.ts";
import { byTable, table } from "./restart.ts";
import { type KubeletState, stateOf } from "../facts/kubelet-state.ts";

const journals: Readonly<Record<Journal["phase"], Journal>> = {
  // In practice, `owed` is not set in this phase. The test needs it for the states of the kubelet.
  applied: { ...idle, owed: "old" },
  applying: { ...restarting, phase: "applying" },
  restarting,
  settling,
  restoring: { ...tried(3, 0), phase: "restoring" },
  reviving,
};

/**
 * The facts of each state. In most phases the agent waits for a process other than `old`; in
 * `settling` it watches the process `new`.
 */
const states: Readonly<Record<KubeletState, (phase: Journal["phase"]) => FactsChange>> = {
  unknown: () => ({ unit: unanswered, healthy: false }),
  gone: () => ({ unit: { ...unit, load: "not-found" }, healthy: false }),
  busy: () => ({ unit: { ...unit, busy: true }, healthy: false }),
  down: () => ({ unit: crashed, healthy: false }),
  other: (phase) => ({ unit: phase === "settling" ? { ...renewed, invocation: "newer" } : unit }),
  silent: () => ({ unit: renewed, healthy: false }),
  answering: () => ({ unit: renewed, stopwatch: { running: 5000, healthy: 5000 } }),
};

const expected: Readonly<
  Record<
    Journal["phase"],
    Readonly<Record<Facts["config"]["restart"], Readonly<Record<KubeletState, string>>>>
  >
> = {
  applied: {
    Always: {
      unknown: "wait GPS221",
      gone: "wait GPS221",
      busy: "wait GPS221",
      down: "wait GPS221",
      other: "nothing GPS200 Proved",
      silent: "wait GPS221",
      answering: "nothing GPS200 Proved",
    },
    Never: {
      unknown: "wait GPS221",
      gone: "wait GPS221",
      busy: "wait GPS221",
      down: "wait GPS221",
      other: "nothing GPS200 Proved",
      silent: "wait GPS221",
      answering: "nothing GPS200 Proved",
    },
  },
  applying: {
    Always: {
      unknown: "wait GPS210",
      gone: "wait GPS211",
      busy: "record GPS212 → restarting",
      down: "restart GPS212 → restarting",
      other: "restart GPS212 → restarting",
      silent: "restart GPS212 → restarting",
      answering: "restart GPS212 → restarting",
    },
    Never: all("record GPS254 → restarting"),
  },
  restarting: {
    Always: {
      unknown: "wait GPS210",
      gone: "wait GPS211",
      busy: "wait GPS213",
      down: "restart GPS212 → restarting",
      other: "restart GPS212 → restarting",
      silent: "wait GPS213",
      answering: "record GPS215 → settling",
    },
    Never: {
      ...all("record GPS254 → restarting"),
      silent: "record GPS200 → applied",
      answering: "record GPS200 → applied",
    },
  },
  settling: {
    Always: {
      unknown: "wait GPS210",
      gone: "wait GPS211",
      busy: "wait GPS213",
      down: "record GPS214 → restarting",
      other: "record GPS215 → settling",
      silent: "wait GPS213",
      answering: "record GPS200 → applied",
    },
    Never: all("record GPS200 → applied"),
  },
  restoring: {
    Always: all("record GPS217 → reviving"),
    Never: all("record GPS218 → applied"),
  },
  reviving: {
    Always: {
      unknown: "wait GPS210",
      gone: "wait GPS211",
      busy: "wait GPS213",
      down: "restart GPS217 → reviving",
      other: "restart GPS217 → reviving",
      silent: "wait GPS213",
      answering: "record GPS218 → applied",
    },
    Never: all("record GPS218 → applied"),
  },
};

function all(then: string): Readonly<Record<KubeletState, string>> {
  return {
    unknown: then,
    gone: then,
    busy: then,
    down: then,
    other: then,
    silent: then,
    answering: then,
  };
}

test("takes the expected step in each phase, for each policy and state of the kubelet", () => {
  for (const [phase, policies] of entries(expected))
    for (const [restart, row] of entries(policies))
      for (const [state, then] of entries(row)) {
        const where = `${phase}, ${restart}, ${state}`;
        const journal = journals[phase];
        const now = facts({ ...states[state](phase), journal, config: { restart } });
        assert.equal(stateOf(now, journal), state, where);
        const step = stepOf(byTable(now, journal));
        assert.equal(summaryOf(step), then, where);
      }
  assert.deepEqual(Object.keys(table), Object.keys(expected));
});

function entries<K extends string, V>(of: Readonly<Record<K, V>>): readonly (readonly [K, V])[] {
  return Object.entries(of) as [K, V][];
}

const never = { restart: "Never" } as const;

test("when restarts are switched off during a rollback, completes the rollback and then accepts a withdrawal", () => {
  const restoring: FactsChange = {
    journal: { ...tried(3, 0), phase: "restoring" },
    unit: notAsked,
    config: never,
  };
  const { steps, end } = follow(restoring);
  assert.deepEqual(steps, ["restore GPS216", "record GPS218 → applied", "wait GPS218 Failed"]);
  const { order: _, ...rest } = end;
  const journal = end.journal.kind === "journal" ? end.journal.journal : undefined;
  assert.ok(journal);
  const config = { ...never, revision: 8, digest: "eight's" };
  const eight = { ...withdrawn, revision: 8, digest: "eight's" };
  assert.deepEqual(follow({ ...rest, journal, stopwatch: {}, config, mounted: eight }).steps, [
    "record GPS226 → applied",
    "leave GPS224",
    "nothing GPS224 Removed",
  ]);
});

test("removes withdrawn entries even if restarts were switched off while the kubelet was being revived", () => {
  // Revision 6 is in force, 7 fails and is rolled back. The file contains what 6 wrote.
  const six = {
    entries: new Map([["six.io", { value: { auth: "c2l4OjY=" }, original: false }]]),
    rest: new Map(),
  };
  const first = { ...mounted, revision: 6, digest: "six's", content: "six", desired: six };
  const applied = follow({
    file: absent,
    mounted: first,
    config: { ...never, revision: 6, digest: "six's" },
    time: { boot: "a", monotonic: 0 },
  }).end;
  const renamed = applied.journal.kind === "journal" ? applied.journal.journal : assert.fail();
  const inForce = follow({
    ...applied,
    journal: renamed,
    stopwatch: {},
    time: { boot: "b", monotonic: 0 },
  }).end;
  const six_ = inForce.journal.kind === "journal" ? inForce.journal.journal : assert.fail();
  const failing = follow({ journal: six_, file: inForce.file });
  assert.ok(failing.last.action === "restart");
  const failed: Journal = {
    ...failing.last.journal,
    owed: "old",
    tried: 3,
    called: true,
    calls: [now],
  };
  const back = follow({ journal: failed, file: failing.end.file, unit: limited, healthy: false });
  assert.deepEqual(back.steps.slice(0, 3), [
    "record GPS216 → restoring",
    "restore GPS216",
    "record GPS217 → reviving",
  ]);
  const journal = back.end.journal.kind === "journal" ? back.end.journal.journal : assert.fail();
  assert.deepEqual(
    journal.owned.entries.map(({ key }) => key),
    ["six.io"],
  );
  const config = { ...never, revision: 8, digest: "eight's" };
  const eight = { ...withdrawn, revision: 8, digest: "eight's" };
  const gone = follow({ journal, file: back.end.file, config, mounted: eight, unit: notAsked });
  assert.deepEqual(gone.steps.slice(0, 2), ["record GPS218 → applied", "apply GPS226 → applying"]);
  assert.equal(gone.end.file.kind, "absent");
});

test("waits for the reread if restarts are off, but not if a new kubelet process runs", () => {
  const config = { restart: "Never" } as const;
  const step = decide(facts({ config, journal: { ...restarting, phase: "applying" } }));
  assert.ok(step.action === "record" && step.code === "GPS254");
  assert.equal(step.journal.owed, "old");
  const { journal } = step;
  check([
    ["the same process", { config, journal }, "wait GPS254"],
    ["it is down", { config, journal, unit: stopped, healthy: false }, "wait GPS254"],
    ["another one", { config, journal, unit: renewed }, "record GPS200 → applied"],
  ]);
});

test("restarts the kubelet once when restarts are switched on during the wait for a reread", () => {
  const { owed: _owed, ...rest } = restarting;
  const waiting: Journal = { ...rest, renamed: { boot: "b", monotonic: 999_000 } };
  assert.equal(byTable(facts({ journal: waiting }), waiting).action, "restart");
});

test("revives a kubelet that stops during a withdrawal, and does not restore the credential", () => {
  const asked = {
    mounted: { ...withdrawn, revision: 8, digest: "eight's" },
    config: { revision: 8, digest: "eight's" },
  };
  const failed: Journal = { ...tried(3, 0), undo: undefined };
  const down = { ...asked, journal: failed, file: absent, unit: limited, healthy: false };
  const revived = follow({ ...down, now: now + 3_600_000 });
  assert.deepEqual(revived.steps, [
    "record GPS226 → restarting",
    "record GPS220 → reviving",
    "restart GPS217 → reviving",
  ]);
  const reviving =
    revived.end.journal.kind === "journal" ? revived.end.journal.journal : assert.fail();
  assert.deepEqual(
    follow({
      ...down,
      journal: reviving,
      unit: renewed,
      healthy: true,
      stopwatch: { running: 5000, healthy: 5000 },
    }).steps,
    ["record GPS200 → applied", "leave GPS224", "nothing GPS224 Removed"],
  );
});

test("removes the undo when a withdrawal replaces a change", () => {
  const asked = {
    mounted: { ...withdrawn, revision: 8, digest: "eight's" },
    config: { ...never, revision: 8, digest: "eight's" },
  };
  const step = decide(facts({ ...asked, journal: tried(2, 0), unit: crashed, healthy: false }));
  assert.ok(step.action === "apply");
  assert.equal(step.journal.undo, undefined);
});

const link: Facts["file"] = { kind: "refused", why: "it is a symbolic link" };

test("while config.json is refused or changing, still makes a restart that is due", () => {
  const down = { unit: limited, healthy: false };
  for (const file of [link, { kind: "changing" } as const]) {
    const told = file.kind === "changing" ? "GPS209" : "GPS206";
    const seen = (change: FactsChange) => {
      const step = decide(facts({ file, ...change }));
      return `${step.action} ${step.code}`;
    };
    assert.equal(seen({ journal: { ...reviving, tried: 1 }, ...down }), "restart GPS217", told);
    assert.equal(seen({ journal: restarting, ...down }), "restart GPS212", told);
    assert.equal(
      seen({ journal: { ...tried(1, 60_000), phase: "applying" }, ...down }),
      "restart GPS214",
      told,
    );
    assert.equal(
      seen({ journal: { ...tried(3, 60_000_000), phase: "restoring" }, ...down }),
      "restart GPS217",
      told,
    );
    assert.equal(
      seen({ journal: { ...tried(3, 0), phase: "restoring" }, unit: renewed }),
      `wait ${told}`,
    );
    assert.equal(
      seen({ journal: settling, unit: renewed, stopwatch: { running: 4000, healthy: 4000 } }),
      "wait GPS215",
    );
    assert.equal(
      seen({ journal: { ...restarting, owed: undefined, phase: "applying" }, ...down }),
      `wait ${told}`,
    );
    assert.equal(seen({ journal: idle }), `wait ${told}`);
  }
});

test("starts a kubelet that a newer agent left stopped, at most once a minute, and does not touch the newer agent's journal", () => {
  const seen = (change: FactsChange, owes = true) => {
    const step = decide(facts({ journal: { kind: "newer", why: "version 9", owes }, ...change }));
    return `${step.action} ${step.code}`;
  };
  const down = { unit: limited, healthy: false };
  assert.equal(seen(down), "revive GPS222");
  assert.equal(seen({ ...down, sinceRestart: 59_000 }), "wait GPS222");
  assert.equal(seen(down, false), "wait GPS222");
  assert.equal(seen({}), "wait GPS222");
  assert.equal(seen({ ...down, config: never }), "wait GPS222");
  assert.equal(seen({ ...down, unit: unanswered }), "wait GPS222");
});

test("while the disk is full, restarts the kubelet only if it is stopped, and pauses between attempts", () => {
  const down = { unit: limited, healthy: false, unwritable: true, file: absent };
  const seen = (change: FactsChange) => {
    const step = decide(facts({ ...down, ...change }));
    return `${step.action} ${step.code}${"evenUnrecorded" in step && step.evenUnrecorded ? " even unrecorded" : ""}`;
  };
  assert.equal(seen({ journal: reviving }), "restart GPS217 even unrecorded");
  assert.equal(seen({ journal: reviving, sinceRestart: 9999 }), "wait GPS214");
  assert.equal(seen({ journal: reviving, sinceRestart: 10_000 }), "restart GPS217 even unrecorded");
  // The third attempt has failed, and neither the journal nor the old file can be written.
  assert.equal(
    seen({ journal: tried(3, 60_000), file: written }),
    "restart GPS214 even unrecorded",
  );
  const restoring: Journal = { ...tried(3, 60_000_000), phase: "restoring" };
  assert.equal(seen({ journal: restoring, file: written }), "restart GPS217 even unrecorded");
  assert.equal(seen({ journal: restoring, file: written, sinceRestart: 1000 }), "restore GPS216");
  assert.equal(
    seen({ journal: { ...settling, tried: 3, calls: [now - 60_000] }, file: written }),
    "restart GPS214 even unrecorded",
  );
  assert.equal(
    seen({ journal: restarting, unit, healthy: true, file: written, unwritable: false }),
    "restart GPS212",
  );
});

test("counts a start or stop of the kubelet as failed if it has not ended after three and a half minutes", () => {
  const starting = { ...crashed, sub: "start" };
  for (const hanging of [
    starting,
    { ...unit, active: "deactivating", sub: "stop-sigterm" },
    { ...unit, busy: true },
  ]) {
    const seen = (journal: Journal, busy: number) => {
      const step = decide(facts({ journal, unit: hanging, healthy: false, stopwatch: { busy } }));
      return `${step.action} ${step.code}${"journal" in step ? ` → ${step.journal.phase}` : ""}`;
    };
    assert.equal(seen(tried(1, 300_000), 209_999), "wait GPS213");
    assert.equal(seen(tried(1, 300_000), 210_000), "restart GPS214 → restarting");
    assert.equal(seen(tried(3, 300_000), 210_000), "record GPS216 → restoring");
    assert.equal(seen(settling, 210_000), "record GPS214 → restarting");
    assert.equal(seen(reviving, 210_000), "restart GPS217 → reviving");
  }
});

test("continues a probation after two replaced processes, and counts a third replacement as a failed attempt", () => {
  let journal: Journal = settling;
  const seen: string[] = [];
  for (const invocation of ["second", "third", "fourth"]) {
    const step = decide(facts({ journal, unit: { ...renewed, invocation } }));
    assert.ok(step.action === "record");
    seen.push(`${step.code} ${step.journal.phase}`);
    ({ journal } = step);
  }
  assert.deepEqual(seen, ["GPS215 settling", "GPS215 settling", "GPS214 restarting"]);
});

test("neither starts nor restarts a kubelet for a drift, but waits for the kubelet's reread", () => {
  const drifted = { file: absent, journal: idle };
  for (const change of [
    {},
    { unit: stopped, healthy: false },
    { unit: limited, healthy: false },
    { unit: crashed, healthy: false },
  ]) {
    const { steps } = follow({ ...drifted, ...change });
    const last = "healthy" in change ? ["wait GPS221"] : ["record GPS254 → applied", "wait GPS254"];
    assert.deepEqual(steps, ["apply GPS225 → applying", "record GPS200 → applied", ...last]);
  }
});

test("stops reporting an older rollback when a new change begins", () => {
  const untold = { ...quarantine, content: "six", revision: 6, told: false };
  const another = { ...seven, attempt: seven.attempt + 1 };
  const step = decide(
    facts({ order: another, file: absent, journal: { ...idle, quarantine: untold } }),
  );
  assert.ok(step.action === "apply");
  assert.equal(step.journal.quarantine?.told, true);
});

test("reports the delivery's note with the code while the content is in force", () => {
  const noted = { ...written, note: "the kubelet has not run the provider yet" };
  const step = decide(facts({ journal: idle, file: noted }));
  assert.deepEqual([step.code, step.detail], ["GPS200", noted.note]);
  const rivals = () => "theirs before ours";
  const second = decide(facts({ journal: idle, file: { ...written, rivals } }));
  assert.deepEqual([second.code, second.detail], ["GPS200", rivals()]);
  assert.equal(decide(facts({ journal: idle })).detail, undefined);
});
