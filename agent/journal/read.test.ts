import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { mostRevision } from "#contract/order.ts";
import { before, idle, restarting, reviving } from "../facts/facts.fixture.ts";
import { firstJournal, type Journal, theirsPrefix, writeJournal } from "./journal.ts";
import { readJournal } from "./read.ts";

const stored = writeJournal(restarting);
const text = stored.bytes.toString();
const open = (name: string) => (name === stored.theirs?.name ? stored.theirs.bytes : undefined);
const read = (value: unknown) =>
  readJournal(Buffer.from(typeof value === "string" ? value : JSON.stringify(value)), open);

test("reads a journal of each phase as it was written, and keeps others' bytes beside it", () => {
  const absent = firstJournal({ absent: true });
  for (const journal of [idle, before, restarting, reviving, absent] satisfies Journal[]) {
    const { bytes, theirs } = writeJournal(journal);
    assert.deepEqual(
      readJournal(bytes, () => theirs?.bytes),
      { kind: "journal", journal },
    );
    assert.doesNotMatch(bytes.toString(), /team\.io/);
    assert.equal(theirs?.name.startsWith(theirsPrefix) ?? false, "bytes" in journal.theirs);
  }
});

const changed = (change: object) => read({ ...(JSON.parse(text) as object), ...change });

test("leaves a journal of another version alone", () => {
  for (const version of [1, 3, 5])
    assert.deepEqual(changed({ version }), { kind: "other version", why: `version ${version}` });
});

const damages: readonly (readonly [name: string, change: object, why: string])[] = [
  ["another phase", { phase: "applying" }, "phase"],
  ["a missing field", { back: undefined }, "back"],
  ["a field of another phase only", { phase: "resting", failed: undefined }, "failed"],
  [
    "an impossible revision",
    { content: { ...idle.content, revision: mostRevision + 1 } },
    "content",
  ],
  [
    "a text that is not JSON",
    { back: { ...idle.content, rest: [{ key: "x", raw: "{" }] } },
    "back",
  ],
  ["no version", { version: "4" }, "version"],
];
for (const [name, change, why] of damages)
  test(`calls a journal corrupt for ${name}`, () => {
    const reading = changed(change);
    assert.ok(reading.kind === "corrupt");
    assert.match(reading.why, new RegExp(why));
  });

test("calls a journal corrupt without the file that it names, or with other bytes in it", () => {
  for (const bytes of [undefined, Buffer.from("other")])
    assert.equal(readJournal(stored.bytes, () => bytes).kind, "corrupt");
});

test("never throws, and never accepts a part of a journal", () => {
  fc.assert(
    fc.property(fc.nat(text.length - 1), (length) => {
      assert.equal(read(text.slice(0, length)).kind, "corrupt");
    }),
  );
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      assert.notEqual(read(value).kind, "journal");
    }),
  );
});
