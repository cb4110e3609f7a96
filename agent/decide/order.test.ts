/** Tables of a node's decisions with an order and without an order. */
import assert from "node:assert/strict";
import test from "node:test";
import type { Order } from "#contract/order.ts";
import {
  absent,
  check,
  crashed,
  decide,
  facts,
  type FactsChange,
  follow,
  foreign,
  idle,
  key,
  mounted,
  nothingMounted as nothing,
  renewed,
  reviving,
  restarting,
  rolledBack as failed,
  rolledBackUnasked,
  seven,
  settling,
  unanswered,
  unasked,
  withdrawn,
  written,
} from "../facts/facts.fixture.ts";
import { isEmpty, orderFor } from "../facts/order.ts";
import { firstJournal, type Journal } from "../journal/journal.ts";
import type { Document } from "../delivery/mount.ts";

const orderOf = (revision: number, digest = "seven's"): Order => ({ ...seven, revision, digest });
const served: Document = { ...mounted, served: true };
const eight: Document = {
  ...mounted,
  revision: 8,
  digest: "eight's",
  content: "eight",
  desired: {
    entries: new Map([["b.io", { value: { auth: "dTpw" }, original: false }]]),
    rest: new Map(),
  },
};
const forEight = { order: orderOf(8, "eight's"), mounted: eight };
const empty = firstJournal({ absent: true });

test("finishes a change whose file is in place, whatever is ordered meanwhile", () => {
  for (const order of [forEight.order, "none", "unknown"] as const) {
    const at: FactsChange = { order, mounted: forEight.mounted };
    check([
      ["restarting", { ...at, journal: restarting }, "restart GPS212 → restarting"],
      ["on probation", { ...at, journal: settling, unit: renewed }, "wait GPS215"],
      ["crashed", { ...at, journal: restarting, unit: crashed }, "restart GPS212 → restarting"],
      ["reviving", { ...at, journal: reviving, file: absent }, "restart GPS217 → reviving"],
    ]);
  }
});

test("places a file that another program overwrote during a change again, and owes the restart again", () => {
  const overwritten: FactsChange = { unit: renewed, file: foreign() };
  for (const journal of [restarting, settling])
    for (const order of [seven, "none", "unknown"] as const) {
      const step = decide(facts({ ...overwritten, journal, order }));
      assert.ok(
        step.action === "apply" && step.journal.matters,
        `${journal.phase} ${JSON.stringify(order)}`,
      );
      const { journal: next } = step;
      const { action } = decide(facts({ ...overwritten, file: written, journal: next, order }));
      assert.equal(action, "restart");
    }
});

test("if restarts are off, writes newer content even before the kubelet has reread the older content", () => {
  const journal = { ...restarting, renamed: facts({}).time };
  const step = decide(facts({ ...forEight, journal, config: { restart: "Never" } }));
  assert.equal(step.action, "apply");
});

test("leaves the node unchanged when the order disappears before the file is in place", () => {
  const applying: Journal = { ...restarting, phase: "applying" };
  delete applying.owed;
  const at: FactsChange = { order: "none", mounted: nothing, journal: applying, file: absent };
  const { steps, end } = follow(at);
  assert.deepEqual(steps, ["record GPS200 → applied", "nothing GPS201"]);
  assert.equal(end.file, absent);
});

test("takes only content with the ordered revision and digest", () => {
  check([
    ["ordered and mounted", { order: seven, file: absent }, "apply GPS226 → applying"],
    ["in force", { order: seven, journal: idle }, "nothing GPS200 Proved"],
    ["another content", { order: orderOf(7, "x"), file: absent }, "wait GPS203"],
    [
      "the same content again",
      { ...forEight, mounted: { ...mounted, revision: 8, digest: "eight's" }, journal: idle },
      "record GPS226 → applied",
    ],
  ]);
});

test("while the Secret does not have the ordered content, waits on a new node, and keeps and repairs content", () => {
  for (const mountedNow of [mounted, { kind: "other", revision: 7 }] as const) {
    const at: FactsChange = { order: forEight.order, mounted: mountedNow };
    const repair = mountedNow.kind === "document" ? "apply GPS225 → applying" : "nothing GPS252";
    check([
      ["no journal", { ...at, file: absent }, "wait GPS203"],
      ["an empty journal", { ...at, file: absent, journal: empty }, "wait GPS203"],
      ["content in force", { ...at, journal: idle }, "nothing GPS200 Proved"],
      ["a drift", { ...at, journal: idle, file: absent }, repair],
    ]);
  }
  // Served content is not taken while an order waits for the Secret.
  const served7: FactsChange = { order: forEight.order, mounted: served, file: absent };
  check([["other content is served", served7, "wait GPS203"]]);
});

test("reports a failed order, and tries the content again for a new attempt", () => {
  const again = { ...seven, attempt: seven.attempt + 1 };
  const late = { now: facts({}).now + 100 * 3_600_000, stopwatch: { quarantine: 1e9 } };
  const at: FactsChange = { order: seven, journal: failed, file: absent };
  check([
    ["it failed", at, "wait GPS218 Failed"],
    ["it failed long ago", { ...late, ...at }, "wait GPS218 Failed"],
    ["a new attempt", { ...at, order: again }, "apply GPS226 → applying"],
    ["the order is answered", { ...at, order: "none", mounted: nothing }, "nothing GPS201"],
  ]);
});

test("follows the order until it is answered, unless the node has newer content", () => {
  const report = {
    ...seven,
    result: "Failed",
    code: "GPS218",
    message: "",
    mode: "Restart",
  } as const;
  const answer = { ...report, version: "", since: 0, time: 0 };
  const proved = { ...answer, result: "Proved" } as const;
  const object = { uid: "u", order: seven, report: undefined };
  const rows = [
    ["the API server has not answered", "unknown", undefined, "unknown"],
    ["no object", "absent", undefined, "none"],
    ["nothing asked", { ...object, order: undefined }, undefined, "none"],
    ["asked", object, undefined, seven],
    ["asked for what it has", object, idle, seven],
    ["answered", { ...object, report: answer }, idle, "none"],
    ["answered, without a journal", { ...object, report: answer }, undefined, "answered"],
    ["proved", { ...object, report: proved }, idle, "none"],
    ["proved, and then lost", { ...object, report: proved }, undefined, seven],
    [
      "an earlier attempt is answered",
      { ...object, report: { ...answer, attempt: 1 } },
      idle,
      seven,
    ],
    ["newer content is in force", object, { ...idle, revision: 8 }, "none"],
  ] as const;
  for (const [when, own, journal, expected] of rows)
    assert.deepEqual(orderFor(own, journal), expected, when);
});

test("records the order with a change, and records no order if the change applies served content", () => {
  const applied = (change: FactsChange) => {
    const step = decide(facts({ file: absent, ...change }));
    assert.ok(step.action === "apply");
    return step.journal.grant;
  };
  assert.equal(applied({ order: seven }), key);
  assert.equal(applied({ order: "none", mounted: served }), undefined);
});

/** A change that began for the order `key`, on a node that had revision 6. */
const changing = (phase: Journal["phase"]): Journal => {
  const { owed, undo = assert.fail(), ...rest } = restarting;
  const six = { ...undo, revision: 6, digest: "six's", content: "six" };
  const isBegun = phase !== "applying";
  return { ...rest, phase, undo: six, ...(isBegun && owed !== undefined && { owed }) };
};
const lives: FactsChange = { unit: renewed, stopwatch: { running: 5000, healthy: 5000 } };

test("finishes a change that the previous agent pod began, even without a new order, and reports the proof", () => {
  for (const mountedNow of [nothing, { ...eight, served: true as const }])
    for (const journal of [
      restarting,
      settling,
      changing("restarting"),
      { ...changing("settling"), settling: settling.settling },
    ]) {
      const { steps } = follow({ order: "none", mounted: mountedNow, journal, ...lives });
      const first = journal.phase === "restarting" ? ["record GPS215 → settling"] : [];
      assert.deepEqual(steps, [...first, "record GPS200 → applied", "nothing GPS200 Proved"]);
    }
});

test("abandons a change and keeps the previous content when the order is gone before the file is in place", () => {
  const journal = changing("applying");
  for (const mountedNow of [nothing, mounted, { ...eight, served: true as const }]) {
    const at: FactsChange = { order: "none", mounted: mountedNow, journal, file: absent };
    const { steps, end } = follow(at);
    assert.deepEqual(steps, ["record GPS200 → applied", "nothing GPS200 Proved"]);
    assert.ok(end.journal.kind === "journal" && end.journal.journal.revision === 6);
  }
});

test("keeps the provider's answer in the journal if the abandoned change had already written the answer", () => {
  const change = changing("applying");
  const journal: Journal = { ...change, owned: { ...change.owned, answer: "digest" } };
  const { end } = follow({ order: "none", mounted: nothing, journal, file: absent });
  assert.ok(end.journal.kind === "journal" && end.journal.journal.owned.answer === "digest");
});

test("considers a journal empty only if it lists nothing of ours", () => {
  assert.ok(isEmpty(empty));
  const { owned } = empty;
  const named: readonly Journal["owned"][] = [
    { ...owned, answer: "digest" },
    { ...owned, rest: [{ key: "HttpHeaders", wrote: ["x"], displaced: [] }] },
    { ...owned, entries: [{ key: "a.io", wrote: ["x"], displaced: [] }] },
  ];
  for (const ownedRecord of named) assert.ok(!isEmpty({ ...empty, owned: ownedRecord }));
});

test("finishes a change in any phase without its order, also if restarts are off", () => {
  const { undo: _, ...withoutUndo } = changing("applying");
  const never = { restart: "Never" } as const;
  const at: FactsChange = { order: "none", mounted: nothing };
  check([
    ["in place", { ...at, journal: changing("applying") }, "restart GPS212 → restarting"],
    [
      "in place, and restarts are off",
      { ...at, journal: changing("applying"), config: never },
      "record GPS254 → restarting",
    ],
    [
      "restarting, and restarts are off",
      { ...at, journal: changing("restarting"), config: never },
      "record GPS254 → restarting",
    ],
    ["restoring", { ...at, journal: { ...restarting, phase: "restoring" } }, "restore GPS216"],
    [
      "unknown whether the new file is in place",
      { ...at, journal: withoutUndo, file: absent },
      "restart GPS212 → restarting",
    ],
    [
      "a new file is in place, and lacks entries that the journal still lists",
      { ...at, journal: changing("applying"), file: foreign() },
      "restart GPS212 → restarting",
    ],
    [
      "the API server has not answered yet",
      { ...at, order: "unknown", journal: changing("applying"), file: absent },
      "wait GPS203",
    ],
  ]);
});

test("keeps the node's content if there is no order, and takes no content if the journal is empty", () => {
  for (const order of ["none", "unknown"] as const)
    check([
      ["in force", { order, mounted: nothing, journal: idle }, "nothing GPS200 Proved"],
      [
        "another content is served",
        { order, mounted: { ...eight, served: true }, journal: idle },
        "nothing GPS200 Proved",
      ],
      [
        "nothing in force",
        { order, mounted: served, journal: empty, file: absent },
        "nothing GPS201",
      ],
      [
        "nothing in force, and config.json is another program's",
        { order, mounted: served, journal: empty, file: foreign("x") },
        "nothing GPS201",
      ],
      ["rolled back", { order, mounted: nothing, journal: failed, file: absent }, "nothing GPS201"],
      [
        "rolled back, and another content is served",
        { order, mounted: served, journal: failed, file: absent },
        "nothing GPS201",
      ],
      [
        "the file drifted, and the node's content is mounted",
        { order, mounted: served, journal: idle, file: absent },
        "apply GPS225 → applying",
      ],
      [
        "the file drifted, and the node's content is not mounted",
        { order, mounted: nothing, journal: idle, file: absent },
        "nothing GPS252",
      ],
      [
        "a journal without a digest",
        { order, mounted: served, journal: { ...idle, digest: undefined } },
        "nothing GPS200 Proved",
      ],
    ]);
});

test("takes served content if there is neither an order nor a journal; if nothing is served, records that the node waits for an order", () => {
  check([
    [
      "something is served",
      { order: "none", mounted: served, file: absent },
      "apply GPS226 → applying",
    ],
    [
      "config.json already has it",
      { order: "none", mounted: served, file: written },
      "record GPS226 → applied",
    ],
    [
      "nothing is served",
      { order: "none", mounted: nothing, file: absent },
      "record GPS201 → applied",
    ],
    [
      "nothing is served, and the node is unfit",
      { order: "none", mounted: nothing, file: absent, healthy: false },
      "wait GPS221 Refused",
    ],
    [
      "nothing is served, and the unfit node already has an empty journal",
      { order: "none", mounted: nothing, file: absent, healthy: false, journal: empty },
      "wait GPS221 Refused",
    ],
    ["a withdrawal", { order: "none", mounted: withdrawn, file: absent }, "nothing GPS224 Removed"],
    [
      "a withdrawal, and the node is unfit",
      {
        order: "none",
        mounted: withdrawn,
        file: absent,
        unit: { unfound: "kubelet.service is inactive" },
      },
      "nothing GPS224 Removed",
    ],
    [
      "a withdrawal that was interrupted before it removed our folder",
      { order: "none", mounted: withdrawn, file: absent, leftovers: true },
      "leave GPS224",
    ],
    [
      "the Secret does not exist",
      { order: "unknown", mounted: { kind: "incomplete", why: "ENOENT" }, file: absent },
      "wait GPS202",
    ],
  ]);
  const { end } = follow({ order: "none", mounted: nothing, file: absent });
  assert.ok(end.journal.kind === "journal");
  check([["served later", { ...end, mounted: served }, "nothing GPS201"]]);
});

test("takes no served content unasked after it has refused the order, not even when it becomes fit", () => {
  const at: FactsChange = { order: "answered", mounted: served, file: absent };
  check([
    ["it is still unfit", { ...at, healthy: false }, "wait GPS221 Refused"],
    ["it is fit", at, "record GPS201 → applied"],
    ["a withdrawal", { ...at, mounted: withdrawn }, "nothing GPS224 Removed"],
    ["a new order", { ...at, order: seven }, "apply GPS226 → applying"],
  ]);
});

test("after served content failed on a node without content, tries this content again later", () => {
  const at = { ...unasked, file: absent, journal: rolledBackUnasked } as const;
  check([
    ["soon", at, "wait GPS219"],
    ["later", { ...at, now: facts({}).now + 3_600_000 }, "apply GPS226 → applying"],
    ["nothing is served now", { ...at, mounted: nothing }, "nothing GPS201"],
  ]);
});

test("if the journal is empty, records the present file as the file to restore, not the file in the journal", () => {
  const stale = firstJournal({ bytes: Buffer.from("stale"), mode: 0o644 });
  const step = decide(facts({ order: seven, journal: stale, file: absent }));
  assert.ok(step.action === "apply");
  assert.deepEqual(step.journal.before, { absent: true });
  const release = { ...withdrawn, digest: "seven's" };
  assert.deepEqual(follow({ order: seven, mounted: release, journal: stale, file: absent }).steps, [
    "leave GPS224",
    "nothing GPS224 Removed",
  ]);
});

test("changes nothing on a node with content while there is no Secret", () => {
  for (const order of ["none", "unknown", seven] as const) {
    const gone = { order, mounted: { kind: "incomplete", why: "ENOENT" } } as const;
    check([["in force", { ...gone, journal: idle }, "nothing GPS200 Proved"]]);
  }
});

test("withdraws at once, whatever is ordered, without a preflight and without a restart", () => {
  for (const order of [seven, "none", "unknown"] as const)
    for (const change of [{}, { healthy: false }, { unit: unanswered }, { elsewhere: "no pods" }]) {
      const { steps } = follow({ order, mounted: withdrawn, journal: idle, ...change });
      assert.deepEqual(steps, [
        "apply GPS226 → applying",
        "record GPS200 → applied",
        "leave GPS224",
        "elsewhere" in change ? "wait GPS261" : "nothing GPS224 Removed",
      ]);
    }
});
