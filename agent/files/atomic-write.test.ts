/** On a real file system, in a temporary directory. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs, {
  mkdirSync,
  promises,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { temporary } from "#test/temporary.ts";
import { FileChanged, expect, identify, replace } from "./atomic-write.ts";

function place(t: TestContext) {
  const root = temporary(t);
  const folder = join(root, "own");
  mkdirSync(folder);
  return { root, folder, target: join(root, "config.json") };
}

const bytes = Buffer.from("new");

test("writes the new bytes with the requested mode, and leaves no staged file behind", async (t) => {
  const { folder, target } = place(t);
  for (const mode of [0o600, 0o644, 0o400]) {
    await replace({ target, folder, bytes, mode, expected: identify(target) });
    assert.equal(readFileSync(target, "utf8"), "new");
    assert.equal(statSync(target).mode & 0o7777, mode);
  }
  assert.deepEqual(readdirSync(folder), []);
});

test("does not replace a file that another program changed after it was read", async (t) => {
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
    assert.throws(() => expect(target, expected), FileChanged);
    assert.deepEqual(readdirSync(folder), []);
  }
  assert.equal(readFileSync(target, "utf8"), "back");
});

for (const code of ["EBUSY", "EXDEV"])
  test(`leaves the file, and nothing else, if it is on a separate mount (${code})`, async (t) => {
    const { folder, target } = place(t);
    writeFileSync(target, "old");
    const real = fs.renameSync;
    const rename = t.mock.method(fs, "renameSync", (from: fs.PathLike, to: fs.PathLike) => {
      if (to !== target) return real(from, to);
      throw Object.assign(new Error("rename"), { code, syscall: "rename" });
    });
    syncBuiltinESMExports();
    const replaced = replace({ target, folder, bytes, mode: 0o600 });
    await assert.rejects(replaced, /^Error: rename: it is on a separate mount/);
    rename.mock.restore();
    syncBuiltinESMExports();
    assert.equal(readFileSync(target, "utf8"), "old");
    assert.deepEqual(readdirSync(folder), []);
  });

for (const [what, returned, error] of [
  ["fewer bytes", "ne", /short write: 2 of 3 bytes/],
  ["more bytes", "new\0", /short write: 4 of 3 bytes/],
  ["as many other bytes", "neW", /returned other bytes than were written/],
] as const)
  test(`leaves the file if the file system returns ${what}`, async (t) => {
    const { folder, target } = place(t);
    writeFileSync(target, "old");
    const read = t.mock.method(fs, "readFileSync", () => Buffer.from(returned));
    syncBuiltinESMExports();
    const replaced = replace({ target, folder, bytes, mode: 0o600 });
    await assert.rejects(replaced, error);
    read.mock.restore();
    syncBuiltinESMExports();
    assert.equal(readFileSync(target, "utf8"), "old");
    assert.deepEqual(readdirSync(folder), []);
  });

/** Records each synced path from now on, with the target's content at that moment. */
function syncs(t: TestContext, target: string) {
  const synced: (readonly [path: string, held: string])[] = [];
  const open = promises.open.bind(promises);
  t.mock.method(promises, "open", async (...args: Parameters<typeof promises.open>) => {
    const handle = await open(...args);
    const sync = handle.sync.bind(handle);
    handle.sync = async () => {
      const held = statSync(target, { throwIfNoEntry: false });
      synced.push([String(args[0]), held === undefined ? "absent" : readFileSync(target, "utf8")]);
      await sync();
    };
    return handle;
  });
  return synced;
}

test("syncs the staged bytes before the rename, and the directory after the rename", async (t) => {
  const { root, folder, target } = place(t);
  writeFileSync(target, "old");
  const synced = syncs(t, target);
  await replace({ target, folder, bytes, mode: 0o600 });
  assert.deepEqual(synced, [
    [join(folder, "config.json.staged"), "old"],
    [root, "new"],
  ]);
});

test("notices a change of a file even if size, mode and modification time stay the same", (t) => {
  const { target } = place(t);
  writeFileSync(target, "old");
  utimesSync(target, 1, 1);
  const before = identify(target);
  assert.equal(identify(target), before);
  writeFileSync(target, "OLD");
  utimesSync(target, 1, 1);
  assert.notEqual(identify(target), before);
});

test("keeps the old file complete on a full disk", async (t) => {
  const { root } = place(t);
  const disk = join(root, "disk");
  mkdirSync(disk);
  if (process.platform !== "linux") return t.skip("needs Linux: a tmpfs");
  if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", disk]).status !== 0)
    return t.skip("needs the right to mount: run as root, outside a container");
  using _mounted = { [Symbol.dispose]: () => void spawnSync("umount", [disk]) };
  const folder = join(disk, "own");
  mkdirSync(folder);
  const target = join(disk, "config.json");
  writeFileSync(target, "old");
  // write-file-atomic itself reports success here, and installs a truncated file.
  await assert.rejects(
    replace({ target, folder, bytes: Buffer.alloc(100_000, "x"), mode: 0o600 }),
    /short write|ENOSPC/,
  );
  assert.equal(readFileSync(target, "utf8"), "old");
  assert.deepEqual(readdirSync(folder), []);
});
