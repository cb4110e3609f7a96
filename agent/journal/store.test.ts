/** On a real file system, in a temporary directory. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { temporary } from "#test/temporary.ts";
import { firstJournal, type Journal, previousPrefix, writeJournal } from "./journal.ts";
import { saveJournal, readStore, setAside, sweepStore } from "./store.ts";

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
