import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { mostRevision } from "#contract/order.ts";
import { rolledBack } from "../facts/facts.fixture.ts";
import { readJournal } from "./read.ts";
import { firstJournal, type Journal, writeJournal } from "./journal.ts";

const before = { bytes: Buffer.from("{}"), mode: 0o644 };
const journal: Journal = {
  ...firstJournal(before),
  phase: "settling",
  revision: 3,
  owned: {
    entries: [{ key: "a.io", wrote: ["x"], displaced: [{ key: "__proto__", raw: "{}" }] }],
    rest: [],
  },
  undo: { file: { absent: true }, owned: { entries: [], rest: [] }, revision: 2, content: "two" },
  settling: { invocation: "new", restarts: 0, replaced: 1 },
  renamed: { boot: "b", monotonic: 1 },
  left: { mode: 0o600 },
  unverified: true,
};

const stored = writeJournal(journal);
const text = stored.bytes.toString();
const open = (name: string) => stored.previous.get(name);
const read = (value: unknown) =>
  readJournal(Buffer.from(typeof value === "string" ? value : JSON.stringify(value)), open);

test("reads a journal as it was written, and writes no previous bytes into it", () => {
  const file = { bytes: Buffer.from('{"auths":{}}'), mode: 0o600 };
  const undo = { file, owned: journal.owned, revision: 2, content: "" };
  const rows: readonly (readonly [one: Journal, files: number])[] = [
    [journal, 1],
    [{ ...journal, undo }, 2],
    [{ ...journal, undo: { ...undo, file: before } }, 1],
  ];
  for (const [input, files] of rows) {
    const { bytes, previous } = writeJournal(input);
    assert.deepEqual(
      readJournal(bytes, (name) => previous.get(name)),
      { kind: "journal", journal: input },
    );
    assert.equal(previous.size, files);
    for (const former of previous.values()) assert.ok(!bytes.includes(former.toString("base64")));
  }
});

test("recognizes a journal whose previous bytes are missing or different", () => {
  const why = "a file with previous bytes is missing";
  for (const previousBytes of [undefined, Buffer.from(""), Buffer.from("{} ")])
    assert.deepEqual(
      readJournal(stored.bytes, () => previousBytes),
      { kind: "corrupt", why },
    );
  const elsewhere = text.replace(/"digest":"[^"]{43}"/, '"digest":"../../../etc/passwd"');
  assert.equal(read(elsewhere).kind, "corrupt");
});

test("reads a newer journal only if the journal allows our version, and keeps its unknown fields", () => {
  const newer = { version: 4, added: { by: "the future" } };
  assert.deepEqual(read({ ...JSON.parse(text), ...newer }), {
    kind: "journal",
    journal: { ...journal, ...newer },
  });
  const stranger = { version: 5, reads: 4, phase: "unheard of" };
  assert.deepEqual(read(stranger), { kind: "newer", why: "version 5", owes: false });
});

test("if a newer journal does not allow our version, reads from it only whether the kubelet might be down", () => {
  for (const [phase, owes] of [
    ["restarting", true],
    ["reviving", true],
    ["applied", false],
    [7, false],
  ] as const) {
    const reading = read({ version: 5, reads: 4, phase });
    assert.deepEqual(reading, { kind: "newer", why: "version 5", owes }, String(phase));
  }
});

test("reads a journal without its optional fields as it is", () => {
  const { undo: _undo, settling: _settling, digest: _digest, ...old } = journal;
  const younger = {
    ...old,
    phase: "settling" as const,
    settling: { invocation: "new", restarts: 0 },
  };
  assert.deepEqual(read(writeJournal(younger).bytes.toString()), {
    kind: "journal",
    journal: younger,
  });
});

test("considers a journal corrupt if its revision is above every valid revision", () => {
  const value = JSON.parse(text) as { undo: object };
  const numbers = [mostRevision + 1, 999_999_999_999_999, -1, 7.5];
  for (const revision of numbers) {
    const quarantine = { ...rolledBack.quarantine, revision };
    for (const damaged of [
      { ...value, revision },
      { ...value, undo: { ...value.undo, revision } },
      { ...value, quarantine },
    ])
      assert.equal(read(damaged).kind, "corrupt", JSON.stringify(damaged));
  }
  assert.equal(read({ ...value, revision: mostRevision }).kind, "journal");
});

test("recognizes a truncated journal at every length", () => {
  for (let length = 0; length < text.length; length += 1)
    assert.equal(read(text.slice(0, length)).kind, "corrupt", String(length));
});

test("neither throws nor reveals the content, whatever the journal contains", () => {
  const planted = "cGxhbnRlZDpzZWNyZXQ=";
  const text = writeJournal({ ...journal, content: planted }).bytes.toString();
  const damaged = fc
    .tuple(fc.nat(text.length - 1), fc.nat(20), fc.string({ maxLength: 20 }))
    .map(([at, cut, put]) => text.slice(0, at) + put + text.slice(at + cut));
  fc.assert(
    fc.property(damaged, (damagedText) => {
      const reading = read(damagedText);
      if ("why" in reading) assert.ok(!reading.why.includes(planted));
    }),
    { numRuns: 2000 },
  );
  fc.assert(fc.property(fc.uint8Array(), (bytes) => void readJournal(Buffer.from(bytes), open)));
});
