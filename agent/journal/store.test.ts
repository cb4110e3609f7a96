/** On a real file system, in a temporary directory. */
import assert from "node:assert/strict";
import fs, {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { watching } from "#test/agent/effects.ts";
import { temporary } from "#test/temporary.ts";
import { overlay } from "../delivery/config-json/overlay.ts";
import { before, contentWith, entry, idle, restarting } from "../facts/facts.fixture.ts";
import { FileChanged, identify } from "../files/atomic-write.ts";
import { needsMounts, printedAfter } from "../files/needs.fixture.ts";
import { type File, firstJournal, type Journal, writeJournal } from "./journal.ts";
import { commit, readStore, readTheirs, saveJournal, setAside, settleStore } from "./store.ts";

function place(t: TestContext) {
  const root = temporary(t);
  const [target, folder] = [join(root, "config.json"), join(root, "own")];
  const put = (journal: Journal, former: Journal | undefined, unreadable?: Buffer) => {
    const file = overlay(journal.theirs, journal.content);
    const expected = identify(target);
    return commit(target, folder, { journal, former, file, expected, unreadable });
  };
  return { root, target, folder, put };
}

const textOf = (file: File) => ("absent" in file ? undefined : file.bytes.toString());
const fileAt = (path: string) => (existsSync(path) ? readFileSync(path, "utf8") : undefined);
const names = (folder: string) => readdirSync(folder).toSorted();
const unreadableIn = (folder: string) =>
  names(folder).filter((name) => name.startsWith("unreadable-"));
const theirsOf = (journal: Journal) => writeJournal(journal).theirs?.name ?? "";

test("keeps others' bytes beside the journal, mode 0600, as long as the journal names them", async (t) => {
  const { folder } = place(t);
  const other = firstJournal({ bytes: Buffer.from("other"), mode: 0o644 });
  for (const journal of [idle, other, idle] as const) {
    await saveJournal(folder, journal, undefined);
    assert.deepEqual(await readStore(folder), { kind: "journal", journal });
    assert.deepEqual(names(folder), ["journal.json", theirsOf(journal)].toSorted());
    for (const name of names(folder))
      assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600);
  }
});

test("writes a file again that no journal names yet, because it might be incomplete", async (t) => {
  const { folder } = place(t);
  mkdirSync(folder);
  writeFileSync(join(folder, theirsOf(idle)), "cut");
  await saveJournal(folder, idle, undefined);
  assert.deepEqual(await readStore(folder), { kind: "journal", journal: idle });
});

test("finds no journal in a missing or empty folder, and a corrupt one without others' bytes", async (t) => {
  const { folder } = place(t);
  assert.deepEqual(await readStore(folder), { kind: "none" });
  mkdirSync(folder);
  assert.deepEqual(await readStore(folder), { kind: "none" });
  await saveJournal(folder, idle, undefined);
  rmSync(join(folder, theirsOf(idle)));
  assert.equal((await readStore(folder)).kind, "corrupt");
});

test("calls a journal corrupt that does not fit into the memory", async (t) => {
  const { folder } = place(t);
  await saveJournal(folder, idle, undefined);
  truncateSync(join(folder, "journal.json"), 8 * 1024 * 1024 + 1);
  assert.deepEqual(await readStore(folder), { kind: "corrupt", why: "more than 8 MiB" });
});

test("changes journal and file together", async (t) => {
  const { folder, target, put } = place(t);
  await put(before, undefined);
  await put(restarting, before);
  assert.equal(fileAt(target), textOf(overlay(restarting.theirs, restarting.content)));
  assert.deepEqual(await readStore(folder), { kind: "journal", journal: restarting });
  assert.deepEqual(names(folder), ["journal.json", theirsOf(restarting)].toSorted());
});

const absent = firstJournal({ absent: true });

test("removes a file by moving it into the folder", async (t) => {
  const { folder, target, put } = place(t);
  await put(before, undefined);
  await put(absent, before);
  assert.equal(fileAt(target), undefined);
  assert.deepEqual(names(folder), ["journal.json"]);
  await put(absent, absent);
  assert.deepEqual(names(folder), ["journal.json"]);
});

test("changes nothing if config.json is a separate mount, as with kind's extraMounts", async (t) => {
  const skip = needsMounts();
  if (skip) return t.skip(skip);
  const { root, folder, target, put } = place(t);
  await put(before, undefined);
  const kept = names(folder);
  const source = (file: string) => JSON.stringify(join(import.meta.dirname, file));
  const program = `
import { commit } from ${source("store.ts")};
import { identify } from ${source("../files/atomic-write.ts")};
import { firstJournal } from ${source("journal.ts")};
const [root] = process.argv.slice(1);
const target = root + "/config.json";
for (const file of [{ bytes: Buffer.from("new"), mode: 0o600 }, { absent: true }]) {
  const change = { journal: firstJournal({ absent: true }), file, expected: identify(target) };
  await commit(target, root + "/own", change).catch(({ message }) => console.log(message));
}`;
  const printed = printedAfter('mount --bind "$1/config.json" "$1/config.json"', program, root);
  assert.match(printed, /^(EBUSY.* it is on a separate mount, so no file can replace it\n){2}$/);
  assert.equal(fileAt(target), textOf(overlay(before.theirs, before.content)));
  assert.deepEqual(names(folder), kept);
  assert.deepEqual(await readStore(folder), { kind: "journal", journal: before });
});

test("does not take a commit for done whose file was not replaced, if its journal could not be removed", async (t) => {
  const { folder, target, put } = place(t);
  await put(before, undefined);
  const kept = fileAt(target);
  const [rename, unlink] = [fs.renameSync, fs.unlinkSync];
  let fails = false;
  const fail = (code: string) => {
    fails = true;
    throw Object.assign(new Error(code), { code });
  };
  const mocks = [
    t.mock.method(fs, "renameSync", (from: string, to: string) =>
      to === target ? fail("EROFS") : rename(from, to),
    ),
    t.mock.method(fs, "unlinkSync", (file: string) =>
      fails && file === join(folder, "commit.staged") ? fail("EIO") : unlink(file),
    ),
  ];
  syncBuiltinESMExports();
  await assert.rejects(put(restarting, before), /EROFS/);
  for (const { mock } of mocks) mock.restore();
  syncBuiltinESMExports();
  await settleStore(target, folder);
  assert.equal(fileAt(target), kept);
  assert.deepEqual(await readStore(folder), { kind: "journal", journal: before });
});

class Killed extends Error {}

/**
 * Lets the process end before its change with this number in the file system. Returns how many
 * changes there were.
 */
async function killedAt(number: number, run: () => Promise<void>): Promise<number> {
  let count = 0;
  const kill = () => {
    count += 1;
    if (count >= number) throw new Killed();
  };
  await watching(kill, run).catch((error: unknown) => assert.ok(error instanceof Killed));
  return count;
}

/** Unreadable bytes with the credential of `before`, and without. */
const [broken, harmless] = [Buffer.from('{"auth":"dTpvbGQ=",}'), Buffer.from("{")];

for (const next of [restarting, absent] as const)
  test(`describes the file in place after a kill at any instant, and keeps no copy of what has left (${next.phase})`, async (t) => {
    const seen = new Set<string>();
    for (let number = 1, last = 2; number <= last; number += 1) {
      const { folder, target, put } = place(t);
      await put(before, undefined, broken);
      await put(before, before, harmless);
      last = (await killedAt(number, () => put(next, before))) + 1;
      if (number === last) break;
      await settleStore(target, folder);
      const reading = await readStore(folder);
      assert.ok(reading.kind === "journal");
      const { theirs, content } = reading.journal;
      assert.equal(fileAt(target), textOf(overlay(theirs, content)), `at ${number}`);
      const copies = new Set(unreadableIn(folder).map((name) => fileAt(join(folder, name))));
      const hasLeft = content.entries.length === 0;
      assert.deepEqual(copies, new Set(hasLeft ? ["{"] : ["{", String(broken)]));
      assert.deepEqual(
        names(folder).filter((name) => !name.startsWith("unreadable")),
        ["journal.json", theirsOf(reading.journal)].filter(Boolean).toSorted(),
      );
      seen.add(reading.journal.phase + content.revision);
    }
    assert.equal(seen.size, 2, "both outcomes occur");
  });

test("does not take a journal that was being saved alone for a commit", async (t) => {
  const { folder, target, put } = place(t);
  await put(before, undefined);
  // A power failure can leave a staged file without its bytes.
  writeFileSync(join(folder, "journal.json.staged"), "");
  await settleStore(target, folder);
  assert.deepEqual(await readStore(folder), { kind: "journal", journal: before });
  assert.deepEqual(names(folder), ["journal.json", theirsOf(before)].toSorted());
});

test("changes nothing if another program wrote the file meanwhile", async (t) => {
  const { folder, target, put } = place(t);
  await put(before, undefined);
  const file = overlay(restarting.theirs, restarting.content);
  const stale = { journal: restarting, former: before, file, unreadable: undefined };
  await assert.rejects(commit(target, folder, { ...stale, expected: "absent" }), FileChanged);
  assert.equal(fileAt(target), textOf(overlay(before.theirs, before.content)));
  assert.deepEqual(await readStore(folder), { kind: "journal", journal: before });
  assert.deepEqual(names(folder), ["journal.json", theirsOf(before)].toSorted());
});

test("keeps the last three unreadable files, mode 0600, until a credential in them leaves", async (t) => {
  const { folder, target, put } = place(t);
  const texts = () => unreadableIn(folder).map((name) => readFileSync(join(folder, name), "utf8"));
  await put(idle, undefined);
  for (const [written, text] of ["1", "2", "3", '"dTpw'].entries()) {
    await put(idle, idle, Buffer.from(text));
    for (const name of unreadableIn(folder)) {
      const path = join(folder, name);
      assert.equal(statSync(path).mode & 0o777, 0o600);
      // The latest was written last. The others are read meanwhile, the first of them last.
      if (readFileSync(path, "utf8") === text) utimesSync(path, 1000 - written, written);
    }
  }
  assert.deepEqual(texts().toSorted(), ['"dTpw', "2", "3"]);
  const other = { ...idle, content: contentWith(8, entry("a.io", "q")) };
  const stale = { journal: other, former: idle, file: idle.theirs, unreadable: undefined };
  await assert.rejects(commit(target, folder, { ...stale, expected: "another" }), FileChanged);
  assert.equal(texts().length, 3, "a commit that fails drops nothing");
  await put(other, idle);
  assert.deepEqual(texts().toSorted(), ["2", "3"]);
});

test("drops the copies of what leaves with a record, and all copies after a loss of the journal", async (t) => {
  const { folder, put } = place(t);
  await saveJournal(folder, idle, undefined);
  writeFileSync(join(folder, "unreadable-1"), '"dTpvbGQ=');
  writeFileSync(join(folder, "unreadable-2"), "{");
  await saveJournal(folder, restarting, idle);
  assert.equal(unreadableIn(folder).length, 2);
  writeFileSync(join(folder, "unreadable-3"), "too large to look for what leaves");
  truncateSync(join(folder, "unreadable-3"), 9 * 1024 * 1024);
  await saveJournal(folder, idle, restarting);
  assert.deepEqual(unreadableIn(folder), ["unreadable-2"]);
  await saveJournal(folder, idle, undefined);
  assert.deepEqual(unreadableIn(folder), []);
  writeFileSync(join(folder, "unreadable-4"), "{");
  rmSync(join(folder, "journal.json"));
  await put(idle, undefined);
  assert.deepEqual(unreadableIn(folder), []);
});

test("removes an empty directory in the journal's place", async (t) => {
  const { folder } = place(t);
  mkdirSync(join(folder, "journal.json"), { recursive: true });
  setAside(folder);
  assert.deepEqual(await readStore(folder), { kind: "none" });
});

test("removes an unreadable journal, and keeps the other programs' bytes beside it for a new one", async (t) => {
  const { folder, target } = place(t);
  await saveJournal(folder, idle, undefined);
  writeFileSync(join(folder, "journal.json"), "{");
  await settleStore(target, folder);
  setAside(folder);
  await settleStore(target, folder);
  assert.deepEqual(await readStore(folder), { kind: "none" });
  assert.deepEqual(names(folder), [theirsOf(idle)]);
  assert.deepEqual(readTheirs(folder), "bytes" in idle.theirs ? idle.theirs.bytes : undefined);
  writeFileSync(join(folder, "theirs-x"), "incomplete");
  assert.notEqual(readTheirs(folder), undefined);
  const name = theirsOf(firstJournal({ bytes: harmless, mode: 0o600 }));
  writeFileSync(join(folder, name), harmless);
  assert.equal(readTheirs(folder), undefined, "nobody knows which of two counts");
});
