/** Tables of a node's decisions with a grant and without a grant. */
import assert from "node:assert/strict";
import test from "node:test";
import type { Grant } from "#contract/grant.ts";
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
  quarantine,
  renewed,
  reviving,
  restarting,
  rolledBack as failed,
  rolledBackUnasked,
  seven,
  settling,
  unasked,
  withdrawn,
  written,
} from "../facts/facts.fixture.ts";
import { failedKey, isEmpty } from "../facts/grant.ts";
import { firstJournal, type Journal } from "../journal/journal.ts";
import type { Document } from "../delivery/mount.ts";

const grantOf = (revision: number, digest = "seven's"): Grant => ({ ...seven, revision, digest });
const back = grantOf(0, "");
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
const forEight = { grant: grantOf(8, "eight's"), mounted: eight };
const empty = firstJournal({ absent: true });

test("finishes a change whose file is in place, whatever is granted meanwhile", () => {
  for (const grant of [back, forEight.grant, "none", "unread"] as const) {
    const at: FactsChange = { grant, mounted: forEight.mounted };
    check([
      ["restarting", { ...at, journal: restarting }, "restart GPS212 → restarting"],
      ["on probation", { ...at, journal: settling, unit: renewed }, "wait GPS215"],
      ["crashed", { ...at, journal: restarting, unit: crashed }, "restart GPS212 → restarting"],
      ["reviving", { ...at, journal: reviving, file: absent }, "restart GPS217 → reviving"],
    ]);
  }
});

test("if restarts are off, writes newer content even before the kubelet has reread the older content", () => {
  const journal = { ...restarting, renamed: facts({}).time };
  const step = decide(facts({ ...forEight, journal, config: { restart: "Never" } }));
  assert.equal(step.action, "apply");
});

test("leaves the node unchanged when the grant is revoked before the file is in place", () => {
  const applying: Journal = { ...restarting, phase: "applying" };
  delete applying.owed;
  const { steps, end } = follow({ grant: back, mounted: nothing, journal: applying, file: absent });
  assert.deepEqual(steps, ["record GPS200 → applied", "nothing GPS201 ready"]);
  assert.equal(end.file, absent);
});

test("takes only content with the granted revision and digest, and waits while the mounted Secret lags", () => {
  check([
    ["granted and mounted", { grant: seven, file: absent }, "apply GPS226 → applying"],
    ["in force", { grant: seven, journal: idle }, "nothing GPS200 ready"],
    ["the Secret lags", { grant: forEight.grant, journal: idle }, "wait GPS203"],
    ["another content", { grant: grantOf(7, "x"), file: absent }, "wait GPS203"],
    [
      "the same content again",
      { ...forEight, mounted: { ...mounted, revision: 8, digest: "eight's" }, journal: idle },
      "record GPS226 → applied",
    ],
    ["a grant of an older revision", { grant: grantOf(6), journal: idle }, "wait GPS256"],
    [
      "a grant of an older revision, with the content that is in force",
      { grant: grantOf(6, "seven's"), journal: idle, mounted: { ...mounted, revision: 6 } },
      "wait GPS256",
    ],
  ]);
  const behind = decide(facts({ grant: grantOf(6), journal: idle }));
  assert.equal("report" in behind && behind.report, "behind");
});

test("stays Ready with the grant of a confirmed release while only newer content is mounted", () => {
  const ahead: FactsChange = { proved: key, mounted: { kind: "other", revision: 8 }, file: absent };
  check([
    ["the release is confirmed", ahead, "nothing GPS201 ready"],
    ["the release is not confirmed", { ...ahead, proved: undefined }, "wait GPS203"],
    ["another release is confirmed", { ...ahead, proved: "6/six's/x" }, "wait GPS203"],
    ["the journal is empty", { ...ahead, journal: empty }, "nothing GPS201 ready"],
    ["the kubelet is silent", { ...ahead, healthy: false }, "wait GPS221"],
    ["the agent refused this grant", { ...ahead, refused: key }, "wait GPS257"],
    ["our folder is still there", { ...ahead, leftovers: true }, "wait GPS203"],
    ["the journal was lost", { ...ahead, lost: true }, "wait GPS203"],
    ["the Secret lags", { ...ahead, mounted: { kind: "other", revision: 6 } }, "wait GPS203"],
    [
      "other content with the same number",
      { ...ahead, mounted: { kind: "other", revision: 7, why: "with other content" } },
      "wait GPS203",
    ],
  ]);
});

test("ignores a failed or refused grant until it has a new `since`", () => {
  const again = { ...seven, since: "2026-11-26T19:00:00Z" };
  const late = { now: facts({}).now + 100 * 3_600_000, stopwatch: { quarantine: 1e9 } };
  check([
    ["it failed", { grant: seven, journal: failed, file: absent }, "wait GPS219"],
    ["it failed long ago", { ...late, grant: seven, journal: failed, file: absent }, "wait GPS219"],
    ["a new since", { grant: again, journal: failed, file: absent }, "apply GPS226 → applying"],
    ["it was refused", { grant: seven, refused: key, file: absent }, "wait GPS257"],
    [
      "another since was refused",
      { grant: again, refused: key, file: absent },
      "apply GPS226 → applying",
    ],
    [
      "a failure that is not reported yet",
      {
        grant: seven,
        journal: { ...failed, quarantine: { ...quarantine, told: false } },
        file: absent,
      },
      "give up GPS218 → applied",
    ],
  ]);
  const dead = decide(facts({ grant: seven, journal: failed, file: absent }));
  assert.equal("report" in dead && dead.report, "failed");
});

test("records the grant with a change, and records no grant if the change applies served content", () => {
  const applied = (change: FactsChange) => {
    const step = decide(facts({ file: absent, ...change }));
    assert.ok(step.action === "apply");
    return step.journal.grant;
  };
  assert.equal(applied({ grant: seven }), key);
  assert.equal(applied({ grant: "none", mounted: served }), undefined);
});

test("reports a failed grant after the change has ended, unless the node has newer content", () => {
  const { revision } = quarantine;
  assert.equal(failedKey(failed), quarantine.grant);
  assert.equal(failedKey({ ...failed, revision: revision - 1 }), quarantine.grant);
  assert.equal(failedKey({ ...failed, revision: revision + 1 }), undefined);
  assert.equal(failedKey({ ...failed, phase: "reviving" }), undefined);
  for (const nothing of [rolledBackUnasked, idle, undefined])
    assert.equal(failedKey(nothing), undefined);
});

test("accepts a refused grant if its content is in force, and then repairs the file", () => {
  const at: FactsChange = { grant: seven, refused: key, journal: idle };
  check([
    ["readable again", at, "nothing GPS200 ready"],
    ["drifted", { ...at, file: foreign() }, "apply GPS225 → applying"],
    ["still unreadable", { ...at, file: { kind: "refused", why: "a link" } }, "wait GPS206"],
  ]);
});

/** A change that began for the grant `key`, on a node that had revision 6. */
const changing = (phase: Journal["phase"]): Journal => {
  const { owed, undo = assert.fail(), ...rest } = restarting;
  const six = { ...undo, revision: 6, digest: "six's", content: "six" };
  const isBegun = phase !== "applying";
  return { ...rest, phase, undo: six, ...(isBegun && owed !== undefined && { owed }) };
};
const lives: FactsChange = { unit: renewed, stopwatch: { running: 5000, healthy: 5000 } };

test("finishes a change that the previous agent pod began, even without a new grant, and turns Ready", () => {
  for (const mountedNow of [nothing, { ...eight, served: true as const }])
    for (const journal of [
      restarting,
      settling,
      changing("restarting"),
      { ...changing("settling"), settling: settling.settling },
    ]) {
      const { steps } = follow({ grant: "none", mounted: mountedNow, journal, ...lives });
      const first = journal.phase === "restarting" ? ["record GPS215 → settling"] : [];
      assert.deepEqual(steps, [...first, "record GPS200 → applied", "nothing GPS200 ready"]);
    }
});

test("abandons a change and keeps the previous content when the grant is gone before the file is in place", () => {
  const journal = changing("applying");
  for (const mountedNow of [nothing, { ...eight, served: true as const }])
    for (const grant of ["none", back] as const) {
      const { steps, end } = follow({ grant, mounted: mountedNow, journal, file: absent });
      assert.deepEqual(steps, ["record GPS200 → applied", "nothing GPS200 ready"]);
      assert.ok(end.journal.kind === "journal" && end.journal.journal.revision === 6);
    }
});

test("keeps the provider's answer in the journal if the abandoned change had already written the answer", () => {
  const change = changing("applying");
  const journal: Journal = { ...change, owned: { ...change.owned, answer: "digest" } };
  const { end } = follow({ grant: back, mounted: nothing, journal, file: absent });
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

test("finishes a change in any phase when its grant is revoked, also if restarts are off", () => {
  const { undo: _, ...withoutUndo } = changing("applying");
  const never = { restart: "Never" } as const;
  const at: FactsChange = { grant: back, mounted: nothing };
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
      "the volume cannot be read for a moment",
      { ...at, grant: "unread", journal: changing("applying"), file: absent },
      "wait GPS203",
    ],
  ]);
});

test("keeps the node's content if there is no grant, and takes no content if the journal is empty", () => {
  for (const grant of ["none", back] as const)
    check([
      ["in force", { grant, mounted: nothing, journal: idle }, "nothing GPS200 ready"],
      [
        "another content is served",
        { grant, mounted: { ...eight, served: true }, journal: idle },
        "nothing GPS200 ready",
      ],
      [
        "nothing in force",
        { grant, mounted: served, journal: empty, file: absent },
        "nothing GPS201 ready",
      ],
      [
        "nothing in force, and config.json is another program's",
        { grant, mounted: served, journal: empty, file: foreign("x") },
        "nothing GPS201 ready",
      ],
      [
        "rolled back",
        { grant, mounted: nothing, journal: failed, file: absent },
        "nothing GPS201 ready",
      ],
      [
        "rolled back, and another content is served",
        { grant, mounted: served, journal: failed, file: absent },
        "nothing GPS201 ready",
      ],
      [
        "the file drifted, and the node's content is mounted",
        { grant, mounted: served, journal: idle, file: absent },
        "apply GPS225 → applying",
      ],
      [
        "the file drifted, and the node's content is not mounted",
        { grant, mounted: nothing, journal: idle, file: absent },
        "nothing GPS252 ready",
      ],
      [
        "a journal without a digest",
        { grant, mounted: served, journal: { ...idle, digest: undefined } },
        "nothing GPS200 ready",
      ],
    ]);
});

test("takes served content if there is neither a grant nor a journal; if nothing is served, records that the node waits for a grant", () => {
  check([
    [
      "something is served",
      { grant: "none", mounted: served, file: absent },
      "apply GPS226 → applying",
    ],
    [
      "config.json already has it",
      { grant: "none", mounted: served, file: written },
      "record GPS226 → applied",
    ],
    [
      "nothing is served",
      { grant: "none", mounted: nothing, file: absent },
      "record GPS201 → applied",
    ],
    [
      "nothing is served, and the node is unfit",
      { grant: "none", mounted: nothing, file: absent, healthy: false },
      "wait GPS221 ready",
    ],
    [
      "nothing is served, and the unfit node already has an empty journal",
      { grant: "none", mounted: nothing, file: absent, healthy: false, journal: empty },
      "wait GPS221 ready",
    ],
    [
      "a withdrawal",
      { grant: "none", mounted: { ...nothing, releasing: true }, file: absent },
      "nothing GPS201 ready",
    ],
    [
      "a withdrawal, and the node is unfit",
      {
        grant: "none",
        mounted: { ...nothing, releasing: true },
        file: absent,
        unit: { unfound: "kubelet.service is inactive" },
      },
      "nothing GPS201 ready",
    ],
    [
      "a withdrawal that was interrupted before it removed our folder",
      { grant: "none", mounted: { ...nothing, releasing: true }, file: absent, leftovers: true },
      "leave GPS224",
    ],
    [
      "the Secret is not mounted",
      { grant: "unread", mounted: { kind: "incomplete", why: "ENOENT" }, file: absent },
      "wait GPS202",
    ],
  ]);
  const { end } = follow({ grant: "none", mounted: nothing, file: absent });
  assert.ok(end.journal.kind === "journal");
  check([["served later", { ...end, mounted: served }, "nothing GPS201 ready"]]);
});

test("after served content failed on a node without content, tries this content again later", () => {
  const at = { ...unasked, file: absent, journal: rolledBackUnasked } as const;
  check([
    ["soon", at, "wait GPS219"],
    ["later", { ...at, now: facts({}).now + 3_600_000 }, "apply GPS226 → applying"],
    ["nothing is served now", { ...at, mounted: nothing }, "nothing GPS201 ready"],
  ]);
});

test("if the journal is empty, records the present file as the file to restore, not the file in the journal", () => {
  const stale = firstJournal({ bytes: Buffer.from("stale"), mode: 0o644 });
  const step = decide(facts({ grant: seven, journal: stale, file: absent }));
  assert.ok(step.action === "apply");
  assert.deepEqual(step.journal.before, { absent: true });
  const release = { ...withdrawn, digest: "seven's" };
  assert.deepEqual(follow({ grant: seven, mounted: release, journal: stale, file: absent }).steps, [
    "leave GPS224",
    "nothing GPS224 ready",
  ]);
});

test("changes nothing on a node with content while the volume is inconsistent for a moment", () => {
  const torn = { grant: "unread", mounted: { kind: "incomplete", why: "ENOENT" } } as const;
  check([
    ["in force", { ...torn, journal: idle }, "nothing GPS200 ready"],
    ["nothing in force", { ...torn, journal: empty, file: absent }, "nothing GPS201 ready"],
  ]);
});
