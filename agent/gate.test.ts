import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { readJournal } from "./gate.ts";
import { firstJournal, type Journal, writeJournal } from "./journal.ts";

const journal: Journal = {
  ...firstJournal({ bytes: "e30=", mode: 0o644, uid: 0, gid: 0 }),
  phase: "settling",
  revision: 3,
  owned: { entries: [{ key: "a.io", wrote: ["x"], displaced: [{ key: "__proto__", raw: "{}" }] }], rest: [] },
  undo: { file: { absent: true }, owned: { entries: [], rest: [] }, revision: 2, content: "two" },
  settling: { invocation: "new", restarts: 0, replaced: 1 },
  renamed: { boot: "b", monotonic: 1 },
  left: { mode: 0o600, uid: 0, gid: 0 },
  unverified: true,
};

test("a journal is read as it was written", () => {
  assert.deepEqual(readJournal(writeJournal(journal)), { kind: "journal", journal });
});

test("a newer journal is understood if its writer says so, its unknown fields are kept, and refused if not", () => {
  const newer = { ...journal, version: 2, added: { by: "the future" } };
  assert.deepEqual(readJournal(Buffer.from(JSON.stringify(newer))), { kind: "journal", journal: newer });
  const stranger = JSON.stringify({ version: 3, reads: 2, phase: "unheard of" });
  assert.deepEqual(readJournal(Buffer.from(stranger)), { kind: "newer", why: "version 3", owes: false });
});

test("of a newer journal no more is believed than that its kubelet may be down", () => {
  for (const [phase, owes] of [
    ["restarting", true],
    ["reviving", true],
    ["applied", false],
    [7, false],
  ] as const) {
    const reading = readJournal(Buffer.from(JSON.stringify({ version: 3, reads: 2, phase })));
    assert.deepEqual(reading, { kind: "newer", why: "version 3", owes }, String(phase));
  }
});

test("a journal of an agent that knew less is read as it is", () => {
  const { undo: _undo, settling: _settling, digest: _digest, ...old } = journal;
  const younger = { ...old, phase: "settling", settling: { invocation: "new", restarts: 0 } };
  assert.deepEqual(readJournal(Buffer.from(JSON.stringify(younger))), { kind: "journal", journal: younger });
});

test("a truncated journal is seen as such, at every length", () => {
  const whole = writeJournal(journal);
  for (let length = 0; length < whole.length; length += 1)
    assert.equal(readJournal(whole.subarray(0, length)).kind, "corrupt", String(length));
});

test("whatever is in the file, reading it neither throws nor tells what is in it", () => {
  const planted = "cGxhbnRlZDpzZWNyZXQ=";
  const text = writeJournal({ ...journal, content: planted }).toString();
  const damaged = fc
    .tuple(fc.nat(text.length - 1), fc.nat(20), fc.string({ maxLength: 20 }))
    .map(([at, cut, put]) => text.slice(0, at) + put + text.slice(at + cut));
  fc.assert(
    fc.property(damaged, (one) => {
      const reading = readJournal(Buffer.from(one));
      if ("why" in reading) assert.ok(!reading.why.includes(planted));
    }),
    { numRuns: 2000 },
  );
  fc.assert(fc.property(fc.uint8Array(), (bytes) => void readJournal(Buffer.from(bytes))));
});
