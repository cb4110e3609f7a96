import assert from "node:assert/strict";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import test, { type TestContext } from "node:test";
import { temporary } from "#test/temporary.ts";
import { nodeFiles, providerFiles } from "#contract/names.ts";
import { answerOf } from "#pullsecret/provider.ts";
import { hasAsked, installProvider } from "#test/faults/provider.ts";
import { emptyAnswer } from "./places.ts";
import { readInstalled, writeAnswer } from "./provider.ts";
import {
  makeFifo,
  needsFifo,
  needsMounts,
  needsProc,
  printedAfter,
} from "#agent/files/needs.fixture.ts";

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
  [/provider can be written by others/, (root) => chmodSync(join(root, folder), 0o777)],
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

const thisFile = JSON.stringify(join(import.meta.dirname, "provider.ts"));

for (const [options, why] of [["exec", "undefined"] as const, ["noexec", "noexec"] as const])
  test(`considers a file system mounted ${options} ${why === "undefined" ? "fit" : "unfit"} for the provider`, (t) => {
    const skip = needsMounts();
    if (skip) return t.skip(skip);
    const mount = `mount --bind "$1" "$1" && mount -o remount,bind,${options} "$1"`;
    const program = `
import { readInstalled } from ${thisFile};
process.stdout.write(String(readInstalled(process.argv[1], "All", 0).unfit));`;
    assert.match(printedAfter(mount, program, tree(t)), new RegExp(`${why}$`));
  });

test("reports that it cannot look for an answer whose folder is a link that leads nowhere here", (t) => {
  const root = temporary(t);
  assert.equal(readInstalled(root, undefined, 0).unseen, undefined);
  symlinkSync("/nowhere/here", join(root, folder));
  assert.match(readInstalled(root, undefined, 0).unseen ?? "", /provider is not a directory/);
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
