import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
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
import { rowsFor } from "#pullsecret/provider.fixture.ts";
import { answerOf } from "#pullsecret/provider.ts";
import { hasAsked, installProvider } from "#test/faults/provider.ts";
import { foundOf } from "../config-json/plan.ts";
import { readDocument } from "../config-json/document.ts";
import type { Desired, Document } from "../mount.ts";
import type { Plan } from "../delivery.ts";
import { digestOf, firstJournal, type Journal, type Owned } from "#agent/journal/journal.ts";
import { afterProvider, providedBy, type InstalledProvider, share } from "./plan.ts";
import { readInstalled, byProvider, configAfterProvider } from "./provider.ts";
import { makeFifo, needsFifo, needsProc } from "#agent/files/needs.fixture.ts";

const { folder, script, config: configFile, answer, bin, configs } = providerFiles;
const value = { auth: "dTpw" };
const desired = (...keys: readonly string[]): Desired => ({
  entries: new Map(keys.map((key) => [key, { value, original: key.startsWith("orig") }])),
  rest: new Map(),
});
const document = (...keys: readonly string[]): Document => ({
  kind: "document",
  revision: 7,
  digest: "seven's",
  content: "seven",
  desired: desired(...keys),
  intent: keys.length > 0 ? "apply" : "release",
});
const installed: InstalledProvider = {
  rows: rowsFor([]),
  answer: answerOf(new Map()),
  identity: "1",
  asked: true,
};
const nothing: Owned = { entries: [], rest: [] };
const config = (auths: object) => {
  const bytes = Buffer.from(JSON.stringify({ auths }));
  const reading = readDocument(bytes);
  assert.ok(reading.kind === "document");
  return foundOf({
    kind: "file",
    identity: "1",
    bytes,
    mode: 0o600,
    document: reading.document,
    digest: "1",
  });
};
const keysOf = ({ file }: Plan) =>
  "absent" in file ? undefined : Object.keys(JSON.parse(file.bytes.toString()).auths);

type Row = readonly [
  what: string,
  given: Partial<InstalledProvider>,
  owned: Owned,
  answer: string[],
  config: string[],
];
const own = (key: string, vacant?: true): Owned => ({
  entries: [{ key, wrote: ["x"], displaced: [], ...(vacant && { vacant }) }],
  rest: [],
});
const rows: readonly Row[] = [
  [
    "the kubelet has asked: config.json lacks the entry",
    {},
    nothing,
    ["a.io"],
    ["orig.io", "-a.io"],
  ],
  ["the kubelet has not asked: nothing changes", { asked: false }, nothing, ["a.io"], ["orig.io"]],
  [
    "the kubelet has not asked: our entry stays",
    { asked: false },
    own("a.io"),
    ["a.io"],
    ["orig.io", "a.io"],
  ],
  [
    "the kubelet does not ask any more: config.json still lacks the entry",
    { asked: false },
    own("a.io", true),
    ["a.io"],
    ["orig.io", "-a.io"],
  ],
  [
    "no row for the registry: config.json gets its entry",
    { rows: ["b.io"] },
    nothing,
    [],
    ["orig.io", "a.io"],
  ],
];
for (const [what, change, owned, answer, configKeys] of rows)
  test(`divides the entries: ${what}`, () => {
    const { entries } = desired("orig.io", "a.io");
    const shares = share({ entries, rest: new Map() }, { ...installed, ...change }, owned, "All");
    assert.deepEqual([...shares.answer.keys()], answer);
    const shown = [...shares.config.entries].map(([key, { vacant }]) => (vacant ? `-${key}` : key));
    assert.deepEqual(shown, configKeys);
  });

test("scope Annotated: considers a node unfit if only config.json could serve an entry, because every pod would get the entry", () => {
  const binary = Buffer.from([0x75, 0x3a, 0xff]).toString("base64");
  for (const [key, auth, why] of [
    ["a.io", "dTpw", /a\.io.*no row of matchImages/],
    ["b.io", binary, /b\.io.*UTF-8/],
    ["[::1]:5000", "dTpw", /::1.*IPv6/],
  ] as const) {
    const file = providedBy(config({}), { ...installed, rows: ["b.io"] }, "Annotated");
    const entries = new Map([[key, { value: { auth }, original: false }]]);
    const desiredDocument = { ...document("a.io"), desired: { entries, rest: new Map() } };
    const planned = file.plan(undefined, desiredDocument, false);
    assert.match(planned.unfit ?? "", why);
    assert.equal(keysOf(planned)?.length, 0);
  }
});

test("writes the answer before it removes our entry from config.json; on removal, restores config.json before it empties the answer", () => {
  const theirs = config({ "a.io": { auth: "dTp0" }, "b.io": value });
  const file = providedBy(theirs, installed, "All");
  const put = file.plan(undefined, document("a.io"), false);
  assert.ok(put.first);
  assert.deepEqual(keysOf(put), ["b.io"]);
  assert.ok(!put.matters && !put.keepsConfig);
  const answer = answerOf(new Map([["a.io", value]]));
  assert.equal(put.owned.answer, digestOf(answer));
  const journal: Journal = { ...firstJournal(put.before), owned: put.owned };
  const now = providedBy(config({ "b.io": value }), { ...installed, answer }, "All");
  assert.ok(now.holds(put.owned) && !file.holds(put.owned));
  assert.equal(now.plan(journal, document("a.io"), false).changed, false);
  const back = now.plan(journal, document(), false);
  assert.deepEqual(back.last?.bytes, answerOf(new Map()));
  assert.deepEqual(keysOf(back), ["a.io", "b.io"]);
  assert.equal(back.owned.answer, undefined);
  assert.equal(back.meanwhile.answer, put.owned.answer);
});

test("keeps the old answer to put it back if the change fails, unless that answer is unread or not in force", () => {
  const empty = answerOf(new Map());
  const old = answerOf(new Map([["b.io", value]]));
  const other = answerOf(new Map([["c.io", value]]));
  const journal: Journal = {
    ...firstJournal({ absent: true }),
    owned: { ...nothing, answer: digestOf(old) },
  };
  const rows: readonly (readonly [string, Buffer | undefined, Journal | undefined, Buffer?])[] = [
    ["in force", old, journal, old],
    ["before our first answer", empty, undefined, empty],
    ["there is none", undefined, undefined, empty],
    ["it is gone", undefined, journal],
    ["another program changed it", other, journal],
    ["it was not read", Buffer.alloc(0), undefined],
  ];
  for (const [when, answer, recordedJournal, former] of rows) {
    const file = providedBy(config({}), { ...installed, answer }, "All");
    const { first } = file.plan(recordedJournal, document("a.io"), false);
    assert.ok(first, when);
    assert.deepEqual(first.former, former, when);
  }
});

test("writes only the answer on a rotation, so no kubelet has to reread anything", () => {
  const file = providedBy(config({ "b.io": value }), installed, "All");
  const planned = file.plan(undefined, document("a.io"), false);
  assert.ok(planned.changed && planned.keepsConfig && !planned.matters);
});

test("keeps the provider's answer after a change to another mode until config.json is proved, and never touches a foreign answer", () => {
  const answer = answerOf(new Map([["a.io", value]]));
  const owned: Owned = { ...own("a.io", true), answer: digestOf(answer) };
  const journal: Journal = { ...firstJournal({ absent: true }), owned };
  const first = afterProvider(config({}), { ...installed, answer });
  const put = first.plan(journal, document("a.io"), false);
  assert.deepEqual(keysOf(put), ["a.io"]);
  assert.equal(put.first ?? put.last, undefined);
  assert.equal(put.owned.answer, owned.answer);
  const file = afterProvider(config({ "a.io": value }), { ...installed, answer });
  const next = { ...journal, owned: put.owned };
  const pending = file.plan({ ...next, phase: "restarting" }, document("a.io"), false);
  assert.equal(pending.changed, false);
  // The kubelet was not restarted, and has not read config.json yet.
  const unread = file.plan({ ...next, rereads: "" }, document("a.io"), false);
  assert.equal(unread.last, undefined);
  assert.equal(unread.owned.answer, owned.answer);
  const proved = file.plan(next, document("a.io"), false);
  assert.ok(proved.keepsConfig && proved.last);
  assert.equal(proved.owned.answer, undefined);
  assert.equal(proved.meanwhile.answer, owned.answer);
  const never = file.plan({ ...next, owned: own("a.io") }, document("a.io"), false);
  assert.equal(never.first ?? never.last, undefined);
});

test("until the script has left its stamp, reports that the kubelet has not run the provider", (t) => {
  const root = tree(t);
  const note = () => {
    const file = byProvider("All").read(root);
    return "note" in file ? file.note : undefined;
  };
  assert.match(note() ?? "", /has not run/);
  hasAsked(root);
  assert.equal(note(), undefined);
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
      assert.equal(readInstalled(root, "All").unfit, undefined);
      spoil(root);
      const provider = readInstalled(root, "All");
      assert.match(provider.unfit ?? "", why);
      const file = byProvider("All").read(root);
      assert.ok("unfit" in file && file.unfit === provider.unfit);
      const planned = file.plan(undefined, document("a.io"), false);
      assert.equal(planned.unfit, provider.unfit);
      assert.equal(file.plan(undefined, document(), false).unfit, undefined);
    },
  );

/** Replaces the kernel's list of mounts: the node's root, and a mount at `point`. */
function mounts(t: TestContext, point: string, options: string): void {
  const read = readFileSync;
  const line = `99 1 0:5 / ${point} ${options} - tmpfs tmpfs rw\n`;
  const mocked = (...args: Parameters<typeof readFileSync>) =>
    String(args[0]) === "/proc/self/mountinfo"
      ? `1 0 8:1 / / rw - ext4 a rw\n${line}`
      : read(...args);
  const mock = t.mock.method(fs, "readFileSync", mocked);
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
    const { unfit } = readInstalled(root, "All");
    if (why === undefined) assert.equal(unfit, undefined);
    else assert.match(unfit ?? "", why);
  });

for (const [what, name] of [
  ["the whole folder", folder],
  ["the answer", answer],
] as const)
  test(`considers a node unfit for the provider if ${what} is a separate mount, but empties the answer on withdrawal`, (t) => {
    const spaces = ["--user", "--map-root-user", "--mount"];
    if (spawnSync("unshare", [...spaces, "true"]).status !== 0)
      return t.skip("needs namespaces of its own: unshare is missing or refused");
    const root = tree(t);
    mkdirSync(join(root, nodeFiles.folder));
    writeFileSync(join(root, answer), answerOf(new Map([["a.io", value]])));
    chmodSync(join(root, answer), 0o644);
    const program = `
import { configAfterProvider, readInstalled } from ${JSON.stringify(join(import.meta.dirname, "provider.ts"))};
const [, root] = process.argv;
process.stdout.write(readInstalled(root, "All").unfit ?? "fit");
const last = configAfterProvider.read(root).answer.empty;
await configAfterProvider.write({ changed: true, keepsConfig: true, last }, {}, root);
process.stdout.write(configAfterProvider.read(root).answer.empty ? ", not empty" : ", empty");`;
    const run = 'mount --bind "$1/$3" "$1/$3" && exec "$0" --input-type=module -e "$2" "$1"';
    const args = [...spaces, "sh", "-c", run, process.execPath, root, program, name];
    const { stdout, stderr } = spawnSync("unshare", args, { encoding: "utf8" });
    assert.match(stdout, /answer\.json is on a separate mount.*, empty$/, stderr);
    assert.deepEqual(readFileSync(join(root, answer)), answerOf(new Map()), stderr);
  });

test("writes the answer again if other users can read its credentials", (t) => {
  const root = tree(t);
  for (const [bytes, isWritten] of [
    [answerOf(new Map([["a.io", value]])), true],
    // If no file can be renamed to the answer's path, its mode stays after the agent empties it.
    [answerOf(new Map()), false],
  ] as const) {
    writeFileSync(join(root, answer), bytes);
    chmodSync(join(root, answer), 0o644);
    const file = byProvider("All").read(root);
    assert.ok("plan" in file);
    assert.equal(file.plan(undefined, document(), false).last !== undefined, isWritten);
    assert.equal(file.answer?.empty !== undefined, isWritten);
  }
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
      for (const delivery of [byProvider("All"), configAfterProvider]) {
        const root = tree(t);
        const bytes = answerOf(new Map([["a.io", value]]));
        writeFileSync(join(root, answer), bytes, { mode: 0o600 });
        mkdirSync(join(root, nodeFiles.folder));
        spoil(join(root, answer));
        const owned = { ...nothing, answer: digestOf(bytes) };
        const journal: Journal = { ...firstJournal({ absent: true }), owned };
        const look = () => {
          const file = delivery.read(root);
          return "plan" in file ? file : assert.fail("cannot be read");
        };
        const planned = look().plan(journal, document(), false);
        assert.ok(planned.changed && planned.unfit === undefined);
        await delivery.write(planned, look(), root);
        assert.deepEqual(readFileSync(join(root, answer)), answerOf(new Map()));
        assert.ok(!look().plan(journal, document(), false).changed);
      }
    },
  );
