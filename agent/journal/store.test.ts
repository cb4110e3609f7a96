/** On a real file system, in a temporary directory. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { temporary } from "#test/temporary.ts";
import { firstJournal, type Journal, previousPrefix, writeJournal, digestOf } from "./journal.ts";
import { saveJournal, readStore, setAside, sweepStore, savePast, readPast } from "./store.ts";

function place(t: TestContext) {
  const root = temporary(t);
  return join(root, "own");
}

const file = (text: string) => ({ bytes: Buffer.from(text), mode: 0o600 });
const idle = firstJournal(file("before us"));
const changing: Journal = {
  ...idle,
  phase: "applying",
  undo: { file: file("before this"), owned: { entries: [], rest: [] }, revision: 1, content: "" },
};
const namesOf = (journal: Journal) => [...writeJournal(journal).previous.keys()];
const content = (folder: string) => readdirSync(folder).toSorted();

test("keeps the previous bytes beside the journal, mode 0600, as long as the journal names them", async (t) => {
  const folder = place(t);
  for (const journal of [idle, changing, idle]) {
    await saveJournal(folder, journal);
    assert.deepEqual(await readStore(folder), { kind: "journal", journal });
    assert.deepEqual(content(folder), ["journal.json", ...namesOf(journal)].toSorted());
    for (const name of content(folder))
      assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600);
  }
  assert.equal(readFileSync(join(folder, namesOf(idle)[0] ?? ""), "utf8"), "before us");
});

test("writes a file again if no journal names it yet, because a killed agent might have left the file incomplete", async (t) => {
  const folder = place(t);
  await saveJournal(folder, idle);
  for (const name of namesOf(changing))
    if (!namesOf(idle).includes(name)) writeFileSync(join(folder, name), "before");
  await saveJournal(folder, changing);
  assert.deepEqual(await readStore(folder), { kind: "journal", journal: changing });
});

test("deletes leftovers of a killed agent, but keeps files that an unreadable journal names", async (t) => {
  const folder = place(t);
  await saveJournal(folder, changing);
  for (const name of [
    `${previousPrefix}${"x".repeat(43)}`,
    `${previousPrefix}x.staged`,
    "config.json.staged",
  ])
    writeFileSync(join(folder, name), "");
  sweepStore(folder);
  assert.deepEqual(content(folder), ["journal.json", ...namesOf(changing)].toSorted());
  setAside(folder);
  await saveJournal(folder, firstJournal({ absent: true }));
  assert.deepEqual(
    content(folder),
    ["journal.json", "journal.json.corrupt", ...namesOf(changing)].toSorted(),
  );
});

test("finds no journal if the folder is missing or empty, and a corrupt journal if the previous bytes are missing", async (t) => {
  const folder = place(t);
  assert.deepEqual(await readStore(folder), { kind: "none" });
  mkdirSync(folder);
  assert.deepEqual(await readStore(folder), { kind: "none" });
  await saveJournal(folder, idle);
  rmSync(join(folder, namesOf(idle)[0] ?? ""));
  assert.equal((await readStore(folder)).kind, "corrupt");
});

function podDirectory(t: TestContext): string {
  const directory = temporary(t);
  return directory;
}

const nothing = { copies: [], present: [], former: [], noAnswer: false };
const digest = (nth: number) => digestOf(Buffer.from(String(nth)));

test("saves digests with mode 0600, and reads them back", (t) => {
  const directory = podDirectory(t);
  assert.deepEqual(readPast(directory), { ...nothing, noAnswer: true });
  const past = {
    copies: [digest(3)],
    present: [digest(4)],
    former: [{ key: "a.io", wrote: [digest(1), digest(2)] }],
    noAnswer: true,
  };
  assert.deepEqual(savePast(directory, past), past);
  assert.deepEqual(readPast(directory), past);
  assert.equal(statSync(join(directory, "former")).mode & 0o777, 0o600);
});

test("keeps as many of the newest digests as fit into half of the pod's directory", (t) => {
  const directory = podDirectory(t);
  const long = { key: `é${"x".repeat(250)}.io`, wrote: [digest(0)] };
  const many = { key: "b.io", wrote: Array.from({ length: 4000 }, (_, nth) => digest(nth)) };
  const last = { key: "c.io", wrote: [digest(1)] };
  const copies = Array.from({ length: 200 }, (_, nth) => digest(nth));
  savePast(directory, { ...nothing, copies, present: copies, former: [long, many, last] });
  assert.ok(statSync(join(directory, "former")).size <= 32 * 1024);
  const read = readPast(directory);
  assert.deepEqual([read.copies.at(-1), read.present.at(-1)], [digest(199), digest(199)]);
  assert.deepEqual(read.former.at(-1), last);
  assert.deepEqual(read.former[0]?.key, "b.io");
  assert.ok((read.former[0]?.wrote.length ?? 0) > 500);
  assert.equal(read.former[0]?.wrote.at(-1), digest(3999));
  const keys = Array.from({ length: 1000 }, (_, nth) => ({
    key: `${nth}.io`,
    wrote: [digest(nth)],
  }));
  savePast(directory, { ...nothing, copies, present: copies, former: keys });
  assert.ok(statSync(join(directory, "former")).size <= 32 * 1024);
  assert.equal(readPast(directory).former.at(-1)?.key, "999.io");
});

test("reads nothing from an invalid file of digests, and survives a missing directory", (t) => {
  const directory = podDirectory(t);
  for (const text of [
    "",
    "{}",
    "null",
    "[]",
    '{"copies":[1],"present":[],"former":[]}',
    '{"copies":[],"present":[1],"former":[]}',
    '{"copies":[],"present":[],"former":{}}',
    '{"copies":[],"present":[],"former":[],"noAnswer":1}',
    '{"copies":[],"present":[],"former":[null,1,{"key":1,"wrote":[]},{"key":"a","wrote":[1]}]}',
  ]) {
    writeFileSync(join(directory, "former"), text);
    assert.deepEqual(readPast(directory), nothing, text);
  }
  savePast(join(directory, "gone"), {
    ...nothing,
    former: [{ key: "a.io", wrote: [digest(1)] }],
  });
  assert.deepEqual(readPast(join(directory, "gone")), { ...nothing, noAnswer: true });
});
