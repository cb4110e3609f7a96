/** On a real file system, in a temporary directory. */
import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { temporary } from "#test/temporary.ts";
import { hasLeftovers, makeFolder, removeFolder, sweep } from "./folder.ts";

function place(t: TestContext) {
  const root = temporary(t);
  const folder = join(root, "own");
  mkdirSync(folder);
  return { root, folder };
}

test("creates our folder with mode 0700, removes the folder, and refuses a file in its place", async (t) => {
  const { root, folder } = place(t);
  const ours = join(root, "ours");
  await makeFolder(ours);
  await makeFolder(ours);
  assert.equal(statSync(ours).mode & 0o777, 0o700);
  chmodSync(ours, 0o755);
  await makeFolder(ours);
  assert.equal(statSync(ours).mode & 0o777, 0o700);
  for (const name of [
    "journal.json",
    "journal.json.corrupt",
    "previous-x",
    "config.json.staged",
    "config.json.staged.1234",
  ])
    writeFileSync(join(ours, name), "");
  sweep(ours);
  assert.deepEqual(readdirSync(ours).toSorted(), [
    "journal.json",
    "journal.json.corrupt",
    "previous-x",
  ]);
  writeFileSync(join(ours, "lock-1"), "");
  let released = 0;
  const release = () => void (released += 1);
  await removeFolder(ours, () => {
    assert.deepEqual(readdirSync(ours), ["lock-1"], "the lock is left until it is released");
    rmSync(join(ours, "lock-1"));
    release();
  });
  assert.ok(!existsSync(ours));
  await removeFolder(ours, release);
  assert.equal(released, 2);
  writeFileSync(join(folder, "file"), "");
  await assert.rejects(makeFolder(join(folder, "file")), /is not a directory/);
});

test("removes everything in our folder, except other programs' directories that contain files", async (t) => {
  const { folder } = place(t);
  mkdirSync(join(folder, "backup"));
  for (const name of ["config.json.staged", "journal.json.staged.old"])
    mkdirSync(join(folder, name));
  writeFileSync(join(folder, "backup", "theirs"), "");
  writeFileSync(join(folder, "journal.json.staged.old", "theirs"), "");
  writeFileSync(join(folder, "journal.json"), "");
  sweep(folder);
  assert.deepEqual(readdirSync(folder).toSorted(), [
    "backup",
    "journal.json",
    "journal.json.staged.old",
  ]);
  assert.ok(hasLeftovers(folder));
  await removeFolder(folder, () => {});
  assert.deepEqual(readdirSync(folder).toSorted(), ["backup", "journal.json.staged.old"]);
  assert.ok(existsSync(join(folder, "backup", "theirs")));
  assert.ok(!hasLeftovers(folder), "nothing is left to be done");
});

test("finds leftovers in a folder without a journal, unless the folder has only directories of other programs", (t) => {
  const { root, folder } = place(t);
  assert.deepEqual([hasLeftovers(join(root, "none")), hasLeftovers(folder)], [false, true]);
  writeFileSync(join(folder, "lock-1"), "");
  assert.equal(hasLeftovers(folder), true);
  mkdirSync(join(folder, "theirs"));
  assert.equal(hasLeftovers(folder), false);
  writeFileSync(join(folder, "journal.json.corrupt"), "");
  assert.equal(hasLeftovers(folder), true);
  const elsewhere = join(root, "elsewhere");
  symlinkSync(folder, elsewhere);
  assert.equal(hasLeftovers(elsewhere), false, "a link to a folder is not ours");
});
