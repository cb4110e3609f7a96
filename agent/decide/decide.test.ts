/** The rules before the table: first contact, the file, and how a change begins. */
import assert from "node:assert/strict";
import test from "node:test";
import { nextFormer, readFormer } from "#pullsecret/merge/former.ts";
import { overlay } from "../delivery/config-json/overlay.ts";
import { type File, firstJournal, never, type Journal } from "../journal/journal.ts";
import {
  ago,
  before,
  brief,
  contents,
  contentWith,
  crashed,
  decide,
  entry,
  facts,
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
  starting,
  stopped,
  theirs,
  unanswered,
  unit,
} from "../facts/facts.fixture.ts";
import type { Step } from "../facts/step.ts";

const file = (text: string, mode = 0o600): File => ({ bytes: Buffer.from(text), mode });
const damaged = fileWith(file('{"auths":{,}}'), "it is not JSON");
const linked = { kind: "refused", why: "it has 2 hard links" } as const;
const unknown = { identity: "as found", rows: [], asked: false } as const;
const unprepared = { ...unknown, answer: undefined };
const unfit = { ...unprepared, unfit: "the script is missing" };
const full = file(`{"auths":{},"x":"${"x".repeat(2 * 1024 * 1024 - 19)}"}`);
const incomplete = { kind: "incomplete", why: "it does not exist" } as const;

type Row = readonly [name: string, change: FactsChange, expected: string];

const rows: readonly Row[] = [
  ["touches nothing beside another agent", { alone: false, journal: idle }, "wait GPS205"],
  [
    "leaves a journal of another version alone",
    { journal: { kind: "other version", why: "version 3" } },
    "wait GPS222 Refused",
  ],
  [
    "moves an unreadable journal out of the way",
    { journal: { kind: "corrupt", why: "not JSON" } },
    "set aside GPS223",
  ],
  ["writes a vanished journal again", { journal: idle, vanished: true }, "record GPS260"],
  ["takes nothing unasked", { order: "none" }, "record GPS201"],
  [
    "takes the served content without an order",
    { order: "none", contents: served },
    "commit GPS226",
  ],
  [
    "takes the served content before the API server answers",
    { order: "unknown", contents: served },
    "commit GPS226",
  ],
  ["takes the ordered content", {}, "commit GPS226"],
  [
    "takes no served content after it has answered an order without taking the content",
    { order: "answered", contents: served },
    "record GPS201",
  ],
  ["waits for the whole Secret", { contents: incomplete }, "wait GPS202"],
  [
    "waits for the ordered content",
    { order: { revision: 9, digest: "9's", attempt: 1 } },
    "wait GPS203",
  ],
  [
    "waits while the Secret is refused",
    { contents: { kind: "refused", why: "digest" } },
    "wait GPS204",
  ],
  [
    "ends a change whose restart the policy no longer allows",
    { journal: restarting, config: { restart: "Never" } },
    "record GPS254",
  ],
  [
    "without a journal, waits while another program writes the file",
    { file: { kind: "changing" } },
    "wait GPS209",
  ],
  [
    "without a journal, waits until an unreadable file is settled",
    { file: damaged, unchangedFor: 1999 },
    "wait GPS207",
  ],
  [
    "without a journal, replaces an unreadable file with what the lost journal left",
    { file: damaged, theirs: Buffer.from("{}") },
    "commit GPS226",
  ],
  [
    "confirms no withdrawal while the kubelet uses another directory",
    { contents: released, elsewhere: "pods/1 does not exist" },
    "wait GPS261",
  ],
  ["is withdrawn without a journal", { contents: released }, "nothing GPS224 Removed"],
  [
    "confirms no withdrawal while the provider's answer cannot be emptied",
    { contents: released, blocked: "EROFS", installed: { ...unknown, answer: Buffer.alloc(0) } },
    "wait GPS208 Refused",
  ],
  [
    "keeps its journal after a release while it cannot look for the provider's answer",
    {
      journal: firstJournal(theirs),
      contents: released,
      installed: { ...unprepared, unseen: "x" },
    },
    "wait GPS206",
  ],
  ["removes its folder without a journal", { contents: released, leftovers: true }, "leave GPS224"],
  [
    "keeps its content without the Secret",
    { journal: idle, contents: incomplete },
    "nothing GPS200 Proved",
  ],
  ["is proved with the ordered content", { journal: idle }, "nothing GPS200 Proved"],
  [
    "needs no credential provider in another mode",
    { journal: idle, installed: unfit },
    "nothing GPS200 Proved",
  ],
  [
    "waits while another program writes the file",
    { journal: idle, file: { kind: "changing" } },
    "wait GPS209",
  ],
  [
    "refuses a file that it must not replace",
    { journal: before, file: linked },
    "wait GPS206 Refused",
  ],
  [
    "refuses a release while it must not replace the file",
    { journal: before, file: linked, contents: released },
    "wait GPS206 Refused",
  ],
  [
    "refuses a release in the middle of a change while it must not replace the file",
    { journal: restarting, file: linked, contents: released },
    "wait GPS206 Refused",
  ],
  [
    "refuses a release without a journal while it must not replace the file",
    { file: linked, contents: released },
    "wait GPS206 Refused",
  ],
  [
    "reports nothing about a file in the middle of a change, because the order might still succeed",
    { journal: restarting, file: linked },
    "wait GPS206",
  ],
  [
    "refuses another directory",
    { journal: before, elsewhere: "pods/1 does not exist" },
    "wait GPS261 Refused",
  ],
  [
    "reports another directory although it has the content",
    { journal: idle, elsewhere: "pods/1 does not exist" },
    "wait GPS261 Refused",
  ],
  [
    "refuses a node that is not prepared for the provider",
    { journal: before, config: { scope: "All" }, installed: unfit },
    "wait GPS235 Refused",
  ],
  [
    "reports such a node although it has the content",
    { journal: idle, config: { scope: "All" }, installed: unfit },
    "wait GPS235 Refused",
  ],
  [
    "scope Annotated: refuses content that the provider cannot serve",
    { journal: firstJournal(theirs), config: { scope: "Annotated" }, installed: unprepared },
    "wait GPS235 Refused",
  ],
  [
    "refuses content for which the file has no space",
    { journal: firstJournal(full) },
    "wait GPS206 Refused",
  ],
  [
    "repairs no file that has no space for our content",
    { journal: idle, file: fileWith(full) },
    "wait GPS206",
  ],
  ["refuses without systemd", { journal: before, unit: unanswered }, "wait GPS210 Refused"],
  ["refuses a unit that is down", { journal: before, unit: stopped }, "wait GPS230 Refused"],
  ["refuses a kubelet that starts", { journal: before, unit: starting }, "wait GPS230 Refused"],
  [
    "refuses a unit that nobody may restart",
    { journal: before, unit: { ...unit, refuses: true } },
    "wait GPS259 Refused",
  ],
  [
    "refuses while healthz does not answer",
    { journal: before, healthz: "silent" },
    "wait GPS221 Refused",
  ],
  [
    "refuses a kubelet without any sign of life",
    { journal: before, healthz: "nobody" },
    "wait GPS221 Refused",
  ],
  [
    "names another user's process at healthz",
    { journal: before, healthz: "foreign" },
    "wait GPS272 Refused",
  ],
  [
    "takes a renewed Lease for a sign of life if another user has the healthz port",
    { journal: before, healthz: "foreign", isLeased: true },
    "commit GPS226",
  ],
];

for (const [name, change, expected] of rows)
  test(name, () => assert.equal(brief(decide(change)), expected));

const silent = { journal: before, healthz: "silent" } as const;
const rival = file('{"auths":{"a.io/team":{"auth":"dTp4"}}}');
const request = "it died, and only a request starts it again";
const explained: readonly (readonly [
  change: FactsChange,
  detail: string | undefined,
  again?: Step["again"],
])[] = [
  [{ order: { revision: 9, digest: "9's", attempt: 1 } }, "published 7, ordered 9"],
  [
    { contents: { ...contents, isOurMode: false } },
    "published 7, ordered 7, for another delivery mode",
  ],
  [{ journal: before, unit: { ...unit, load: "masked" } }, "kubelet.service: masked"],
  [{ journal: before, unit: starting }, "kubelet.service is activating/start"],
  [{ journal: before, unit: unanswered }, "connect ECONNREFUSED", "back off"],
  [silent, "127.0.0.1 and ::1, port 10248"],
  [{ ...silent, config: { healthzAddress: "10.0.0.1", healthzPort: 1 } }, "10.0.0.1, port 1"],
  [{ journal: idle, file: fileWith({ absent: true }), unchangedFor: 1999 }, "it is missing"],
  [{ journal: { kind: "corrupt", why: "not JSON" } }, "not JSON"],
  [{ journal: { kind: "other version", why: "version 3" } }, "version 3", 30_000],
  [{ journal: idle, file: linked }, "it has 2 hard links", 1000],
  [{ journal: idle, file: damaged }, "it is not JSON; global-pull-secret/unreadable-…"],
  [{ journal: { ...before, failed: key } }, "revision 7"],
  [{ journal: { ...idle, written: ago(1000) } }, "304 s more", 10_000],
  [{ journal: { ...idle, written: ago(299_999) } }, "6 s more", 5001],
  [
    { journal: { ...idle, theirs: rival } },
    'the kubelet tries entries of other programs first: "a.io/team" before "a.io"',
  ],
  [{ journal: idle, file: fileWith(theirs), writeIn: 700 }, undefined, 700],
  [{ journal: restarting }, "the restart that the order allows", 250],
  [{ journal: restarting, unit: stopped }, request, 1000],
  [{ journal: { ...restarting, asked: ago(9900) }, unit: stopped }, request, 100],
  [{ journal: reviving, unit: crashed }, "systemd starts it", 250],
  [
    { journal: restarting, unit: renewed(), healthz: "foreign" },
    "the new process is alive; another user's process has the healthz port",
  ],
];
test("explains each step with what a user has to know, and looks again in time", () => {
  for (const [change, detail, again] of explained) {
    const step = decide(change);
    assert.deepEqual([step.detail, step.again], [detail, again ?? step.again], brief(step));
  }
});

test("H16: begins a change with journal and file together, and names the process to restart", () => {
  const step = decide({ journal: before });
  assert.ok(step.action === "commit" && "bytes" in step.commit.file);
  assert.match(step.commit.file.bytes.toString(), /team\.io.*a\.io.*dTpw/);
  const { journal } = step.commit;
  assert.ok(journal.phase === "restarting");
  assert.deepEqual(journal.back, before.content);
  assert.equal(journal.old, "old");
});

test("H19: restarts nothing if the kubelet takes the same credentials from the new file", () => {
  const same = { ...before, content: { ...idle.content, revision: 6, digest: "6's" } };
  const { phase, content } = journalOf(decide({ journal: same }));
  assert.deepEqual([phase, content.revision], ["resting", 7]);
});

test("waits for the reread of a file that the kubelet ignored because of another program's headers", () => {
  const auths = '{"team.io":{"auth":"dTp0ZWFt"},"a.io":{"auth":"dTpw"}}';
  const ignored = file(`{"auths":${auths},"HttpHeaders":{"x":1}}`);
  const step = decide({ journal: idle, file: fileWith(ignored) });
  assert.deepEqual([step.action, journalOf(step).written], ["commit", ago(0)]);
});

for (const journal of [idle, restarting, reviving])
  for (const unitFact of [unit, starting, stopped, unanswered])
    test(`removes what leaves at once while ${journal.phase}, whatever the kubelet does (${"active" in unitFact ? unitFact.active : "unknown"})`, () => {
      const newest = { ...contentWith(9, entry("b.io", "x")), isRelease: false };
      const step = decide({
        journal,
        unit: unitFact,
        healthz: "silent",
        contents: { ...contents, newest },
        elsewhere: "moved",
      });
      assert.ok(step.action === "commit" && "bytes" in step.commit.file);
      assert.doesNotMatch(step.commit.file.bytes.toString(), /"a\.io"/);
      assert.equal(journalOf(step).phase, journal.phase);
      assert.deepEqual(journalOf(step).written, journal.written);
    });

test("waits for no reread of an entry that the provider's answer has, too", () => {
  const config = { restart: "Never", scope: "All" } as const;
  const installed = { ...unknown, answer: Buffer.alloc(0) };
  for (const [rows, expected] of [
    [["a.io"], never],
    [[], facts({}).time],
  ] as const) {
    const step = decide({ config, installed: { ...installed, rows } });
    assert.equal(step.action, "commit");
    assert.deepEqual(journalOf(step).written, expected);
  }
});

test("writes the provider's answer before an entry leaves config.json", () => {
  const config = { restart: "Never", scope: "All" } as const;
  const installed = { ...unknown, answer: Buffer.alloc(0), rows: ["a.io"], asked: true };
  const step = decide({ journal: idle, config, installed });
  assert.ok(step.action === "commit" && "bytes" in step.commit.file);
  assert.doesNotMatch(step.commit.file.bytes.toString(), /"a\.io"/);
  assert.match(step.answer?.bytes.toString() ?? "", /"a\.io"/);
});

test("lets no answer that only loses something keep config.json from being written", () => {
  const installed = { ...unknown, answer: Buffer.alloc(0), rows: ["a.io"] };
  for (const [scope, unfit] of [
    [undefined, {}],
    ["All", { unfit: "the script is missing", rows: [] }],
  ] as const) {
    const config = { restart: "Never", scope } as const;
    const drifted = { journal: idle, config, installed: { ...installed, ...unfit } };
    const step = decide({ ...drifted, file: fileWith(theirs) });
    assert.ok(step.action === "commit" && step.answer === undefined);
    assert.equal(decide(drifted).action, "answer", "it is written afterwards");
  }
});

test("notes that the kubelet does not ask the provider, in its mode only", () => {
  for (const [scope, asked, isNoted] of [
    ["All", false, true],
    ["All", true, false],
    [undefined, false, false],
  ] as const) {
    const config = { restart: "Never", scope } as const;
    let journal: Journal = idle;
    let answer: Uint8Array = Buffer.alloc(0);
    const next = () => {
      const installed = { ...unknown, answer: Buffer.from(answer), rows: ["a.io"], asked };
      return decide({ journal, config, installed });
    };
    let step = next();
    for (let writes = 0; writes < 3 && step.action !== "nothing"; writes += 1) {
      if ("answer" in step && step.answer) answer = step.answer.bytes;
      if (step.action !== "answer") journal = journalOf(step);
      step = next();
    }
    assert.equal(brief(step), "nothing GPS200 Proved");
    assert.equal(/has not run its credential provider/.test(step.detail ?? ""), isNoted);
  }
});

test("keeps the bytes of an unreadable file, and puts the last readable entries back", () => {
  assert.equal(brief(decide({ journal: idle, file: damaged, unchangedFor: 1999 })), "wait GPS207");
  const step = decide({ journal: idle, file: damaged });
  assert.equal(brief(step), "commit GPS269");
  assert.ok(step.action === "commit" && "bytes" in step.commit.file);
  assert.equal(step.commit.unreadable?.toString(), '{"auths":{,}}');
  assert.match(step.commit.file.bytes.toString(), /team\.io.*a\.io/);
  assert.match(step.detail ?? "", /global-pull-secret\/unreadable/);
});

test("recognizes a copy of our entry although the Secret cannot be read", () => {
  const auth = '{"auth":"dTpw"}';
  const copied = file(
    `{"auths":{"team.io":{"auth":"dTp0ZWFt"},"a.io":${auth},"https://a.io":${auth}}}`,
  );
  const step = decide({ journal: idle, contents: incomplete, file: fileWith(copied) });
  assert.equal(brief(step), "commit GPS225");
  assert.deepEqual(journalOf(step).theirs, theirs);
});

test("keeps no unreadable bytes with a credential that leaves, and does not say that it does", () => {
  const two = { ...idle, content: contentWith(6, entry("a.io", "p"), entry("b.io", "gone")) };
  for (const [text, code] of [
    [`{"auth":"dTpnb25l",}`, "GPS226"],
    [`{"auth":"dTpw",}`, "GPS269"],
  ] as const) {
    const step = decide({ journal: two, file: fileWith(file(text), "it is not JSON") });
    assert.ok(step.action === "commit");
    assert.deepEqual(
      [step.code, step.commit.unreadable?.toString()],
      [code, code === "GPS269" ? text : undefined],
    );
  }
});

test("takes the other programs' bytes of a lost journal if the file is an overlay of ours", () => {
  const hidden = file('{"auths":{"a.io":{"auth":"dTpoaWRkZW4="},"team.io":{"auth":"dTp0ZWFt"}}}');
  assert.ok("bytes" in hidden);
  const overlaid = fileWith(overlay(hidden, idle.content));
  const bytesOf = (change: FactsChange) => {
    const { theirs: learned } = journalOf(decide({ theirs: hidden.bytes, ...change }));
    return "bytes" in learned ? learned.bytes.toString() : "";
  };
  assert.equal(bytesOf({ file: overlaid }), hidden.bytes.toString());
  const edited = '{"auths":{"team.io":{"auth":"dTp0ZWFt"},"a.io":{"auth":"dTpw"},"x.io":{}}}';
  assert.match(bytesOf({ file: fileWith(file(edited)) }), /dTpoaWRkZW4=.*x\.io/);
  // Nothing of ours is over the file, so it is theirs, and stays so if somebody damages it.
  const learned = decide({ theirs: hidden.bytes });
  assert.deepEqual([brief(learned), journalOf(learned)], ["record GPS268", firstJournal(theirs)]);
  assert.equal(bytesOf({ order: "none" }), "bytes" in theirs ? theirs.bytes.toString() : "");
  const step = decide({ theirs: hidden.bytes, file: damaged });
  assert.ok(step.action === "commit" && "bytes" in step.commit.file);
  assert.deepEqual([step.commit.file.bytes, step.commit.unreadable], [hidden.bytes, undefined]);
});

test("starts a dead kubelet while the file cannot be put right", () => {
  const asked = { ...restarting, asked: ago(10_001) };
  const change = { journal: asked, file: damaged, unchangedFor: 0 };
  assert.equal(decide({ ...change, unit: stopped }).action, "restart");
  assert.equal(brief(decide({ ...change, unit })), "wait GPS207");
});

const dropped = { ...contentWith(9, entry("b.io", "x")), isRelease: false };
const writing: readonly (readonly [name: string, change: FactsChange, expected: string])[] = [
  ["a journal for an untouched node", { order: "none" }, "wait GPS208"],
  ["the first content", {}, "wait GPS208 Refused"],
  ["the ordered content", { journal: before }, "wait GPS208 Refused"],
  ["an unreadable journal", { journal: { kind: "corrupt", why: "not JSON" } }, "wait GPS208"],
  ["a vanished journal", { journal: idle, vanished: true }, "wait GPS208"],
  ["what leaves", { journal: idle, contents: { ...contents, newest: dropped } }, "wait GPS208"],
  ["a drift", { journal: idle, file: fileWith(theirs) }, "wait GPS208"],
  ["the restart of a living kubelet", { journal: restarting }, "wait GPS208"],
  ["the proof", { journal: restarting, unit: renewed(6000) }, "wait GPS208"],
  [
    "that the kubelet has read the file",
    { journal: { ...idle, written: ago(9e5) } },
    "wait GPS208",
  ],
  ["the end of a rollback", { journal: reviving }, "wait GPS208"],
  ["a withdrawal", { journal: firstJournal(theirs), contents: released }, "wait GPS208 Refused"],
  ["the removal of the folder", { contents: released, leftovers: true }, "wait GPS208 Refused"],
];
for (const [name, change, expected] of writing)
  test(`writes nothing while the disk cannot be written: ${name}`, () => {
    assert.doesNotMatch(brief(decide(change)), /^(wait|nothing)/);
    assert.equal(brief(decide({ ...change, blocked: "EROFS" })), expected);
  });

test("starts a dead kubelet while the disk cannot be written, with the journal as it is", () => {
  const file = fileWith(theirs);
  const asked = { ...restarting, asked: ago(10_001) };
  for (const journal of [asked, { ...asked, deaths: 2 }, reviving]) {
    const step = decide({ journal, file, unit: stopped, blocked: "ENOSPC" });
    assert.ok(step.action === "restart" && step.resetFirst);
    assert.deepEqual(step.journal.content, journal.content);
  }
});

test("puts the other programs' bytes back after a release, although the file means the same", () => {
  const spaced = file('{ "auths": { "team.io": { "auth": "dTp0ZWFt" } } }');
  const step = decide({ journal: idle, file: fileWith(spaced), contents: released });
  assert.ok(step.action === "commit", brief(step));
  assert.deepEqual(step.commit.file, theirs);
});

test("repairs a drift without a restart, after a pause if it comes again and again", () => {
  const drifted = { journal: idle, file: fileWith(theirs) };
  const step = decide(drifted);
  assert.equal(brief(step), "commit GPS225");
  assert.equal(journalOf(step).phase, "resting");
  assert.equal(brief(decide({ ...drifted, writeIn: 700 })), "wait GPS225");
});

test("closes a file that another program made readable for others, although it means the same", () => {
  const { bytes } = overlay(idle.theirs, idle.content) as Extract<File, { bytes: Buffer }>;
  const readable = fileWith(file(`${bytes.toString()}\n`, 0o644));
  const step = decide({ journal: idle, file: readable });
  assert.equal(brief(step), "commit GPS225");
});

test("records that the file was removed before it may write, because a new file does not show that", () => {
  const removed = { journal: idle, file: fileWith({ absent: true }), writeIn: 700 };
  const step = decide(removed);
  assert.equal(brief(step), "record GPS268");
  assert.deepEqual(journalOf(step), { ...idle, theirs: { absent: true } });
  assert.equal(brief(decide({ ...removed, journal: journalOf(step) })), "wait GPS225");
});

test("records what another program wrote, and does not write the file; later if programs write again and again", () => {
  const text = '{"auths":{"team.io":{"auth":"dTp0ZWFt"},"a.io":{"auth":"dTpw"},"x.io":{}}}';
  const change = { journal: idle, file: fileWith(file(text)) };
  const step = decide(change);
  assert.equal(brief(decide({ ...change, writeIn: 700 })), "nothing GPS200 Proved");
  assert.equal(brief(step), "record GPS268");
  const learned = journalOf(step).theirs;
  assert.match("bytes" in learned ? learned.bytes.toString() : "", /team\.io.*x\.io/);
});

test("records at once what leaves, although programs write again and again", () => {
  const newest = { ...contentWith(9, entry("b.io", "x")), isRelease: false };
  const change = { journal: idle, contents: { ...contents, newest }, writeIn: 700 };
  assert.equal(brief(decide({ ...change, file: fileWith(theirs) })), "record GPS268");
  const [content, back] = [contentWith(7, entry("b.io", "x")), contentWith(6, entry("a.io", "p"))];
  const step = decide({ ...change, journal: { ...restarting, content, back } });
  const journal = journalOf(step) as typeof restarting;
  assert.deepEqual([brief(step), journal.back.entries], ["record GPS268", []]);
});

test("recognises the provider's answer without a journal, beside another program's entry or not", () => {
  const config = { restart: "Never", scope: "All" } as const;
  const empty = { ...unknown, answer: Buffer.alloc(0), rows: ["a.io"], asked: true };
  const given = decide({ journal: idle, config, installed: empty });
  assert.ok(given.action === "commit" && given.answer !== undefined);
  const installed = { ...empty, answer: Buffer.from(given.answer.bytes) };
  for (const [theirs, place] of [
    ["https://a.io", "beside"],
    ["a.io/team", "answer"],
    ["x.io", "answer"],
  ] as const) {
    const found = fileWith(file(`{"auths":{"${theirs}":{"auth":"dTp4"}}}`));
    const step = decide({ config, installed, file: found, order: "none" });
    assert.equal(brief(step), "record GPS270");
    assert.deepEqual(
      journalOf(step).content.entries.map((each) => `${each.key} ${each.place}`),
      [`a.io ${place}`],
      theirs,
    );
  }
});

test("recognises ours in config.json without a journal, and keeps everything else in the file", () => {
  const ours = '"a.io":{"auth":"dTpsZWFrZWQ="}';
  const left = [{ key: "a.io", entry: '{"auth":"dTpsZWFrZWQ="}' }];
  const former = readFormer(nextFormer("", { left, present: [], salt: "s" }));
  for (const [bytes, theirs] of [
    [`{"auths":{${ours}}}`, undefined],
    [`{"auths":{${ours}},"x":1}`, '{"auths":{},"x":1}'],
    [`{"auths":{${ours},"x.io":{}}}`, '{"auths":{"x.io":{}}}'],
    [`{"auths":{${ours},"x.io":{}},"x":1}`, '{"auths":{"x.io":{}},"x":1}'],
  ] as const) {
    const contents = { ...released, former } as typeof released;
    const next = journalOf(decide({ contents, file: fileWith(file(bytes)) }));
    assert.equal("bytes" in next.theirs ? next.theirs.bytes.toString() : undefined, theirs);
  }
});

test("recognises former credentials without a journal, and removes them", () => {
  const former = readFormer(
    nextFormer("", {
      left: [{ key: "a.io", entry: '{"auth":"dTpsZWFrZWQ="}' }],
      present: [],
      salt: "s",
    }),
  );
  const restored = file(
    '{"auths":{"https://a.io":{"auth":"dTpsZWFrZWQ="},"x.io":{"auth":"dTp4"}}}',
  );
  const change = { contents: { ...released, former } as typeof released, file: fileWith(restored) };
  const found = decide(change);
  assert.equal(brief(found), "record GPS270");
  // The kubelet might not have read them.
  assert.deepEqual(journalOf(found).written, ago(0));
  const step = decide({ ...change, journal: journalOf(found) });
  assert.ok(step.action === "commit" && "bytes" in step.commit.file);
  assert.equal(step.commit.file.bytes.toString(), '{"auths":{"x.io":{"auth":"dTp4"}}}');
});
