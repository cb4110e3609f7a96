import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { digestOf } from "./journal.ts";
import { keepFormer, readFormer } from "./former-file.ts";

function place(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "gps-former-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

const nothing = { copies: [], former: [] };
const digest = (nth: number) => digestOf(Buffer.from(String(nth)));

test("reads back what it kept, for root alone", (t) => {
  const directory = place(t);
  assert.deepEqual(readFormer(directory), nothing);
  const past = {
    copies: [digest(3)],
    former: [{ key: "a.io", wrote: [digest(1), digest(2)] }],
  };
  assert.deepEqual(keepFormer(directory, past), past);
  assert.deepEqual(readFormer(directory), past);
  assert.equal(statSync(join(directory, "former")).mode & 0o777, 0o600);
});

test("keeps the newest within half of the pod's directory", (t) => {
  const directory = place(t);
  const long = { key: `é${"x".repeat(250)}.io`, wrote: [digest(0)] };
  const many = { key: "b.io", wrote: Array.from({ length: 4000 }, (_, nth) => digest(nth)) };
  const last = { key: "c.io", wrote: [digest(1)] };
  const copies = Array.from({ length: 200 }, (_, nth) => digest(nth));
  keepFormer(directory, { copies, former: [long, many, last] });
  assert.ok(statSync(join(directory, "former")).size <= 32 * 1024);
  const read = readFormer(directory);
  assert.equal(read.copies.at(-1), digest(199));
  assert.deepEqual(read.former.at(-1), last);
  assert.deepEqual(read.former[0]?.key, "b.io");
  assert.ok((read.former[0]?.wrote.length ?? 0) > 600);
  assert.equal(read.former[0]?.wrote.at(-1), digest(3999));
  const keys = Array.from({ length: 1000 }, (_, nth) => ({
    key: `${nth}.io`,
    wrote: [digest(nth)],
  }));
  keepFormer(directory, { copies, former: keys });
  assert.ok(statSync(join(directory, "former")).size <= 32 * 1024);
  assert.equal(readFormer(directory).former.at(-1)?.key, "999.io");
});

test("takes nothing from a file that is not ours, and survives a directory that is gone", (t) => {
  const directory = place(t);
  for (const text of [
    "",
    "{}",
    "null",
    "[]",
    '{"copies":[1],"former":[]}',
    '{"copies":[],"former":{}}',
    '{"copies":[],"former":[null,1,{"key":1,"wrote":[]},{"key":"a","wrote":[1]}]}',
  ]) {
    writeFileSync(join(directory, "former"), text);
    assert.deepEqual(readFormer(directory), nothing, text);
  }
  keepFormer(join(directory, "gone"), {
    copies: [],
    former: [{ key: "a.io", wrote: [digest(1)] }],
  });
  assert.deepEqual(readFormer(join(directory, "gone")), nothing);
});
