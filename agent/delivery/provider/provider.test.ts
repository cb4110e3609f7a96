import assert from "node:assert/strict";
import fs, {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { basename, join } from "node:path";
import test, { type TestContext } from "node:test";
import { temporary } from "#test/temporary.ts";
import { nodeFiles, providerFiles } from "#contract/names.ts";
import { answerOf } from "#pullsecret/provider.ts";
import { hasAsked, installProvider } from "#test/faults/provider.ts";
import { emptyAnswer } from "./places.ts";
import { readInstalled, writeAnswer } from "./provider.ts";
import { ownMounts } from "#agent/files/mounts.ts";
import { makeFifo, needsFifo, needsProc } from "#agent/files/needs.fixture.ts";

const { folder, script, config: configFile, answer, bin, configs } = providerFiles;
const value = { auth: "dTpw" };
const read = (root: string) => readInstalled(root, "All", 0);

test("counts a stamp of the script only if it is from this boot", (t) => {
  const root = tree(t);
  assert.equal(read(root).asked, false);
  hasAsked(root);
  assert.equal(read(root).asked, true);
  assert.equal(readInstalled(root, "All", Date.now() + 60_000).asked, false);
});

function tree(t: TestContext): string {
  const root = temporary(t);
  installProvider(root);
  return root;
}

const spoilt: readonly (readonly [
  why: RegExp,
  spoil: (root: string) => void,
  needs?: string | false,
])[] = [
  [/bin is missing/, (root) => rmSync(join(root, bin), { recursive: true })],
  [/global-pull-secret is missing/, (root) => rmSync(join(root, script))],
  [/is not executable/, (root) => chmodSync(join(root, script), 0o600)],
  [/can be written by others/, (root) => chmodSync(join(root, script), 0o722)],
  [/config can be written by others/, (root) => chmodSync(join(root, configs), 0o777)],
  [/\.json is missing/, (root) => rmSync(join(root, configFile))],
  [/it is not JSON/, (root) => writeFileSync(join(root, configFile), "{")],
  [
    /symbolic link/,
    (root) => {
      rmSync(join(root, configFile));
      symlinkSync("/nowhere", join(root, configFile));
    },
  ],
  [
    /answer\.json: it is not a regular file/,
    (root) => {
      rmSync(join(root, answer));
      mkdirSync(join(root, answer));
    },
  ],
  ...[script, configFile, answer].map(
    (name) =>
      [
        new RegExp(`${basename(name)}: it is not a regular file`),
        (root: string) => makeFifo(join(root, name)),
        needsFifo,
      ] as const,
  ),
];
for (const [why, spoil, needs = false] of spoilt)
  test(
    `considers a node unfit for the provider: ${why.source}`,
    { skip: needsProc || needs },
    (t) => {
      const root = tree(t);
      assert.equal(read(root).unfit, undefined);
      spoil(root);
      assert.match(read(root).unfit ?? "", why);
    },
  );

/** Replaces the kernel's list of mounts: the node's root, and a mount at `point`. */
function mounts(t: TestContext, point: string, options: string): void {
  const list = join(temporary(t), "mountinfo");
  const line = `99 1 0:5 / ${point} ${options} - tmpfs tmpfs rw\n`;
  writeFileSync(list, `1 0 8:1 / / rw - ext4 a rw\n${line}`);
  const open = fs.openSync;
  const mocked = (path: fs.PathLike, ...others: [fs.OpenMode, fs.Mode?]) =>
    open(path === ownMounts ? list : path, ...others);
  const mock = t.mock.method(fs, "openSync", mocked);
  syncBuiltinESMExports();
  t.after(() => {
    mock.mock.restore();
    syncBuiltinESMExports();
  });
}

const mounted: readonly (readonly [name: string, options: string, why: RegExp | undefined])[] = [
  [folder, "rw", /answer\.json is on a separate mount/],
  [answer, "rw", /answer\.json is on a separate mount/],
  [nodeFiles.folder, "rw", /answer\.json is on a separate mount/],
  [bin, "rw,noexec", /bin is on a file system that is mounted noexec/],
  [bin, "rw", undefined],
  ["", "rw", undefined],
  ["", "rw,noexec", /bin is on a file system that is mounted noexec/],
];
for (const [name, options, why] of mounted)
  test(`considers a node ${why ? "unfit" : "fit"} for the provider with the mount ${name || "of the kubelet's directory"}, ${options}`, (t) => {
    const root = tree(t);
    mounts(t, join(root, name), options);
    const { unfit } = read(root);
    if (why === undefined) assert.equal(unfit, undefined);
    else assert.match(unfit ?? "", why);
  });

test("does not take an answer for one that other users could read", (t) => {
  const root = tree(t);
  writeFileSync(join(root, answer), answerOf(new Map([["a.io", value]])));
  chmodSync(join(root, answer), 0o644);
  assert.deepEqual(read(root).answer, Buffer.alloc(0));
});

const unread: readonly (readonly [
  what: string,
  spoil: (path: string) => void,
  needs?: string | false,
])[] = [
  ["it has a second name", (path) => linkSync(path, `${path}.bak`)],
  ["it is a link", (path) => (renameSync(path, `${path}.bak`), symlinkSync(`${path}.bak`, path))],
  ["it is a FIFO", makeFifo, needsFifo],
];
for (const [what, spoil, skip = false] of unread)
  test(
    `empties an unreadable answer on withdrawal, because the kubelet might use it: ${what}`,
    { skip },
    async (t) => {
      for (const scope of ["All", undefined] as const) {
        const root = tree(t);
        const bytes = answerOf(new Map([["a.io", value]]));
        writeFileSync(join(root, answer), bytes, { mode: 0o600 });
        mkdirSync(join(root, nodeFiles.folder));
        spoil(join(root, answer));
        const installed = readInstalled(root, scope, 0);
        assert.deepEqual(installed.answer, Buffer.alloc(0));
        await writeAnswer(root, emptyAnswer, installed.identity);
        assert.deepEqual(readFileSync(join(root, answer)), emptyAnswer);
        assert.deepEqual(readInstalled(root, scope, 0).answer, emptyAnswer);
      }
    },
  );
