/** On a real file system, in a directory of the test's own. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { FileChanged, identify, isLeft, makeFolder, remove, removeFolder, replace, sweep } from "./replace.ts";

function place(t: TestContext) {
  const root = mkdtempSync(join(tmpdir(), "gps-replace-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const folder = join(root, "own");
  mkdirSync(folder);
  return { root, folder, target: join(root, "config.json") };
}

const bytes = Buffer.from("new");
/** For what only root can do: mount. The suite is meant to run as root (CONTRIBUTING.md). */
const skip = process.getuid?.() !== 0 && "needs root";

test("the new bytes are there with the mode that was asked for, and nothing is left staged", async (t) => {
  const { folder, target } = place(t);
  for (const mode of [0o600, 0o644, 0o400]) {
    await replace({ target, folder, bytes, mode, expected: identify(target) });
    assert.equal(readFileSync(target, "utf8"), "new");
    assert.equal(statSync(target).mode & 0o7777, mode);
  }
  assert.deepEqual(readdirSync(folder), []);
});

test("a file that another program changed after it was looked at is not replaced", async (t) => {
  const { folder, target } = place(t);
  writeFileSync(target, "old");
  const changes: readonly (() => void)[] = [
    () => writeFileSync(target, "OLD"),
    () => rmSync(target),
    () => writeFileSync(target, "back"),
  ];
  for (const change of changes) {
    const expected = identify(target);
    change();
    await assert.rejects(replace({ target, folder, bytes, mode: 0o600, expected }), FileChanged);
    await assert.rejects(remove(target, expected), FileChanged);
    assert.deepEqual(readdirSync(folder), []);
  }
  assert.equal(readFileSync(target, "utf8"), "back");
});

test("a full disk leaves the old file whole", { skip }, async (t) => {
  const { root } = place(t);
  const disk = join(root, "disk");
  mkdirSync(disk);
  assert.equal(spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", disk]).status, 0);
  using _mounted = { [Symbol.dispose]: () => void spawnSync("umount", [disk]) };
  const folder = join(disk, "own");
  mkdirSync(folder);
  const target = join(disk, "config.json");
  writeFileSync(target, "old");
  // write-file-atomic itself reports success here, and installs what fitted.
  await assert.rejects(
    replace({ target, folder, bytes: Buffer.alloc(100_000, "x"), mode: 0o600 }),
    /short write|ENOSPC/,
  );
  assert.equal(readFileSync(target, "utf8"), "old");
  assert.deepEqual(readdirSync(folder), []);
});

test("a folder that is a symbolic link is refused; ours is 0700 and goes with all that is in it", async (t) => {
  const { root, folder } = place(t);
  const ours = join(root, "ours");
  await makeFolder(ours, "journal");
  await makeFolder(ours, "journal");
  assert.equal(statSync(ours).mode & 0o777, 0o700);
  for (const name of ["journal.json", "journal.json.corrupt", "config.json.staged", "config.json.staged.1234"])
    writeFileSync(join(ours, name), "");
  sweep(ours);
  assert.deepEqual(readdirSync(ours).toSorted(), ["journal.json", "journal.json.corrupt"]);
  let released = 0;
  const release = () => void (released += 1);
  await removeFolder(ours, "journal.json", release);
  assert.ok(!existsSync(ours));
  await removeFolder(ours, "journal.json", release);
  assert.equal(released, 2);
  writeFileSync(join(folder, "file"), "");
  await assert.rejects(makeFolder(join(folder, "file"), "journal"), /is not a directory/);
});

test("a directory that somebody made in our folder, or in a file's place, stays with what is in it, and stops nothing", async (t) => {
  const { folder } = place(t);
  mkdirSync(join(folder, "backup"));
  for (const name of ["config.json.staged", "journal.json.staged.old"]) mkdirSync(join(folder, name));
  writeFileSync(join(folder, "backup", "theirs"), "");
  writeFileSync(join(folder, "journal.json.staged.old", "theirs"), "");
  writeFileSync(join(folder, "journal.json"), "");
  sweep(folder);
  assert.deepEqual(readdirSync(folder).toSorted(), ["backup", "journal.json", "journal.json.staged.old"]);
  assert.ok(isLeft(folder));
  await removeFolder(folder, "journal.json", () => {});
  assert.deepEqual(readdirSync(folder).toSorted(), ["backup", "journal.json.staged.old"]);
  assert.ok(existsSync(join(folder, "backup", "theirs")));
  assert.ok(!isLeft(folder), "nothing is left to be done");
});

test("of a folder without a journal there is something left if it is empty, or has a file that is no lock", (t) => {
  const { root, folder } = place(t);
  assert.deepEqual([isLeft(join(root, "none")), isLeft(folder)], [false, true]);
  writeFileSync(join(folder, "lock-1"), "");
  assert.equal(isLeft(folder), true);
  mkdirSync(join(folder, "theirs"));
  assert.equal(isLeft(folder), false);
  writeFileSync(join(folder, "journal.json.corrupt"), "");
  assert.equal(isLeft(folder), true);
});
