import assert from "node:assert/strict";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import test, { type TestContext } from "node:test";
import { kubeadmFlagsFile, nodeFiles, providerFiles } from "#contract/names.ts";
import { answerOf } from "#pullsecret/provider/answer.ts";
import { judgeConfig, rowsFor } from "#pullsecret/provider/config.ts";
import { withFlags } from "#pullsecret/provider/flags.ts";
import { hasAsked, installProvider } from "#test/faults/provider.ts";
import { foundOf } from "../config-json/observation.ts";
import { readDocument } from "../config-json/document.ts";
import type { Desired, Document } from "../mount.ts";
import type { Plan, Put } from "../delivery.ts";
import { digestOf, firstJournal, type Journal, type Owned } from "#agent/journal/journal.ts";
import { afterProvider, notAsked, providedBy } from "./observation.ts";
import { type InstalledProvider, readInstalled } from "./installation.ts";
import { unfitFor } from "#agent/facts/registration.ts";
import { makeFifo, needsFifo, needsProc } from "#agent/files/needs.fixture.ts";
import { configAfterProvider, preinstalledProvider, registeredProvider } from "./provider.ts";
import { registeredBy } from "./registered.ts";
import { share } from "./share.ts";
import { readTree, type ProviderTree } from "./tree.ts";

const { script, config: configFile, answer, bin, configs } = providerFiles;
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
  ["asked: its place is kept empty", {}, nothing, ["a.io"], ["orig.io", "-a.io"]],
  ["not asked yet: what is there stays", { asked: false }, nothing, ["a.io"], ["orig.io"]],
  ["not asked yet: ours stays", { asked: false }, own("a.io"), ["a.io"], ["orig.io", "a.io"]],
  [
    "not asked any more: an empty place stays empty",
    { asked: false },
    own("a.io", true),
    ["a.io"],
    ["orig.io", "-a.io"],
  ],
  ["no row for it: config.json serves it", { rows: ["b.io"] }, nothing, [], ["orig.io", "a.io"]],
];
for (const [what, given, owned, answer, kept] of rows)
  test(`entries are shared out: ${what}`, () => {
    const { entries } = desired("orig.io", "a.io");
    const shares = share({ entries, rest: new Map() }, { ...installed, ...given }, owned, "All");
    assert.deepEqual([...shares.answer.keys()], answer);
    const shown = [...shares.config.entries].map(([key, { vacant }]) => (vacant ? `-${key}` : key));
    assert.deepEqual(shown, kept);
  });

test("scope Annotated: what only config.json could serve makes the node unfit, because every pod would have it", () => {
  const found = providedBy(config({}), { ...installed, rows: ["b.io"] }, "Annotated");
  const planned = found.plan(undefined, document("a.io"), false);
  assert.match(planned.unfit ?? "", /a\.io/);
  assert.equal(keysOf(planned)?.length, 0);
});

test("the answer comes first, and the place of ours is emptied in config.json; what was displaced comes back first", () => {
  const theirs = config({ "a.io": { auth: "dTp0" }, "b.io": value });
  const found = providedBy(theirs, installed, "All");
  const put = found.plan(undefined, document("a.io"), false);
  assert.equal(put.first?.length, 1);
  assert.deepEqual(keysOf(put), ["b.io"]);
  assert.ok(put.matters && !put.kept);
  const answer = answerOf(new Map([["a.io", value]]));
  assert.equal(put.owned.answer, digestOf(answer));
  const journal: Journal = { ...firstJournal(put.before), owned: put.owned };
  const now = providedBy(config({ "b.io": value }), { ...installed, answer }, "All");
  assert.ok(now.holds(put.owned) && !found.holds(put.owned));
  assert.equal(now.plan(journal, document("a.io"), false).changed, false);
  const back = now.plan(journal, document(), false);
  assert.deepEqual(
    back.last?.map(({ file }) => "bytes" in file && file.bytes),
    [answerOf(new Map())],
  );
  assert.deepEqual(keysOf(back), ["a.io", "b.io"]);
  assert.equal(back.owned.answer, undefined);
  assert.equal(back.meanwhile.answer, put.owned.answer);
});

test("a rotation writes the answer alone, and no kubelet has anything to read again", () => {
  const found = providedBy(config({ "b.io": value }), installed, "All");
  const planned = found.plan(undefined, document("a.io"), false);
  assert.ok(planned.changed && planned.kept && !planned.matters);
});

test("after the provider: the answer stays until config.json is proved, and is not touched where it was never ours", () => {
  const answer = answerOf(new Map([["a.io", value]]));
  const owned: Owned = { ...own("a.io", true), answer: digestOf(answer) };
  const journal: Journal = { ...firstJournal({ absent: true }), owned };
  const first = afterProvider(config({}), { ...installed, answer });
  const put = first.plan(journal, document("a.io"), false);
  assert.deepEqual(keysOf(put), ["a.io"]);
  assert.equal(put.first ?? put.last, undefined);
  assert.equal(put.owned.answer, owned.answer);
  const there = afterProvider(config({ "a.io": value }), { ...installed, answer });
  const next = { ...journal, owned: put.owned };
  const pending = there.plan({ ...next, phase: "restarting" }, document("a.io"), false);
  assert.equal(pending.changed, false);
  const proved = there.plan(next, document("a.io"), false);
  assert.ok(proved.kept && proved.last?.length === 1);
  assert.equal(proved.owned.answer, undefined);
  assert.equal(proved.meanwhile.answer, owned.answer);
  const never = there.plan({ ...next, owned: own("a.io") }, document("a.io"), false);
  assert.equal(never.first ?? never.last, undefined);
});

const without = 'KUBELET_KUBEADM_ARGS="--v=2"\n';
const fresh: ProviderTree = {
  ...installed,
  asked: false,
  answer: undefined,
  script: false,
  config: undefined,
  otherScope: false,
  names: [],
  flags: "without",
  env: { kind: "file", identity: "2", bytes: Buffer.from(without), mode: 0o644 },
};
const there: ProviderTree = {
  ...fresh,
  answer: answerOf(new Map([["a.io", value]])),
  script: true,
  config: rowsFor([]),
  names: [script, configFile, answer],
  flags: "with",
  env: { kind: "file", identity: "3", bytes: Buffer.from(withFlags(without)), mode: 0o644 },
};
const namesOf = (puts: readonly Put[] = []) => puts.map(({ name }) => name);
const env = (puts: readonly Put[] = []) =>
  puts.flatMap(({ name, file }) =>
    name === kubeadmFlagsFile && "bytes" in file ? [file.bytes.toString()] : [],
  );

test("a registration writes the script, the answer and the configuration, in this order, then the flags, for one restart", () => {
  const planned = registeredBy(config({}), fresh, "All").plan(undefined, document("a.io"), false);
  assert.deepEqual(namesOf(planned.first), [script, answer, configFile]);
  assert.deepEqual(env(planned.last), [withFlags(without)]);
  assert.ok(planned.matters && planned.kept && planned.owned.flags);
});

test("registered: a rotation writes the answer alone, and makes room in config.json without a restart", () => {
  const owned: Owned = { ...nothing, flags: true };
  const journal = { ...firstJournal({ absent: true }), owned };
  const rotated = registeredBy(config({}), { ...there, answer: answerOf(new Map()) }, "All");
  const next = rotated.plan(journal, document("a.io"), false);
  assert.deepEqual([namesOf(next.first), next.last, next.matters], [[answer], [], false]);
  const found = registeredBy(
    config({ "a.io": { auth: "dTp0" } }),
    { ...there, asked: true },
    "All",
  );
  const room = found.plan(journal, document("a.io"), false);
  assert.deepEqual([keysOf(room), room.kept, room.matters], [[], undefined, false]);
  const unproved = { ...journal, phase: "restarting" as const };
  assert.ok(!found.plan(unproved, document("a.io"), false).changed, "not before it is proved");
});

test("registered: another scope is another configuration, for one restart, and its rollback takes the flags out", () => {
  const tree: ProviderTree = {
    ...there,
    config: undefined,
    otherScope: true,
    names: [...there.names, providerFiles.stamp],
  };
  const journal = {
    ...firstJournal({ absent: true }),
    owned: { ...nothing, flags: true as const },
  };
  const found = registeredBy(config({}), tree, "Annotated");
  assert.equal(found.registers, "to be registered");
  const planned = found.plan(journal, document("a.io"), false);
  // That an earlier kubelet has asked says nothing of the next one.
  assert.deepEqual(namesOf(planned.first), [providerFiles.stamp, configFile]);
  const [stamp, written] = planned.first ?? [];
  assert.ok(stamp && "absent" in stamp.file);
  const bytes = written && "bytes" in written.file ? written.file.bytes : Buffer.alloc(0);
  assert.ok(judgeConfig(bytes, "Annotated").ok);
  assert.ok(planned.matters && planned.kept && planned.owned.flags);
  assert.deepEqual(planned.last, []);
});

test("registered: a configuration that is gone or not ours any more is put back as the kubelet was told, without a restart", () => {
  const keys = ["a.io", "b.io:5000", "c.io:5000"];
  const spoilt = { ...there, config: undefined, names: [...there.names, providerFiles.stamp] };
  // Once its row was missing, so that config.json serves it: the running kubelet has none.
  const owned: Owned = { ...own("c.io:5000"), flags: true };
  const at = { revision: 7, content: "seven", owned };
  const journal: Journal = { ...firstJournal({ absent: true }), ...at };
  const found = registeredBy(config({ "c.io:5000": value }), spoilt, "All");
  const planned = found.plan(journal, document(...keys), false);
  const rowsOf = ({ first }: Plan) => {
    const file = first?.find(({ name }) => name === configFile)?.file;
    const judged = judgeConfig(file && "bytes" in file ? file.bytes : Buffer.alloc(0), "All");
    return judged.ok ? judged.rows : undefined;
  };
  assert.deepEqual(rowsOf(planned), rowsFor(["b.io:5000"]));
  assert.deepEqual([planned.matters, planned.tells, planned.kept], [false, false, true]);
  assert.deepEqual(
    planned.owned.entries.map(({ key, vacant }) => [key, vacant]),
    [["c.io:5000", undefined]],
  );
  const [a, b] = [["a.io", value] as const, ["b.io:5000", value] as const];
  assert.equal(planned.owned.answer, digestOf(answerOf(new Map([a, b]))));

  const unsure: readonly (readonly [why: string, journal: Journal | undefined])[] = [
    ["the next revision may be of another scope", { ...journal, revision: 6 }],
    ["the next content may need other rows", { ...journal, content: "six" }],
    ["its registration is not proved", { ...journal, phase: "settling", matters: true }],
    ["the flags are not of this journal", { ...journal, owned: own("c.io:5000") }],
    ["the journal was lost", undefined],
  ];
  for (const [why, known] of unsure) {
    const anew = found.plan(known, document(...keys), false);
    assert.ok(anew.matters && anew.tells, why);
    assert.deepEqual(rowsOf(anew), rowsFor(keys), why);
    assert.deepEqual(namesOf(anew.first)[0], providerFiles.stamp, why);
  }
});

test("after the provider: as long as kubeadm's file has our flags it is said, in force and withdrawn", (t) => {
  const root = tree(t);
  const note = () => {
    const found = configAfterProvider.read(root);
    return "note" in found ? found.note : undefined;
  };
  assert.equal(note(), undefined);
  writeFileSync(join(root, kubeadmFlagsFile), withFlags(without));
  assert.match(note() ?? "", /kubeadm-flags\.env still names/);
});

test("in force: that the kubelet has not asked yet is said until the script has left its stamp", (t) => {
  const root = tree(t);
  writeFileSync(join(root, kubeadmFlagsFile), withFlags(without));
  const notes = () =>
    [preinstalledProvider("All"), registeredProvider("All")].map((delivery) => {
      const found = delivery.read(root);
      return "note" in found ? found.note : undefined;
    });
  assert.deepEqual(notes(), [notAsked, notAsked]);
  hasAsked(root);
  assert.deepEqual(notes(), [undefined, undefined]);
});

test("registered: a withdrawal takes the flags out first, and what they named only when that is proved", () => {
  const journal = {
    ...firstJournal(config({}).now),
    owned: { ...nothing, flags: true as const },
  };
  const away = registeredBy(config({}), there, "All").plan(journal, document(), false);
  assert.deepEqual(namesOf(away.last), [answer, kubeadmFlagsFile]);
  assert.deepEqual(env(away.last), [without]);
  assert.ok(away.matters && away.owned.flags === undefined);
  const out: ProviderTree = {
    ...there,
    answer: answerOf(new Map()),
    flags: "without",
    env: fresh.env,
  };
  const found = registeredBy(config({}), out, "All");
  assert.ok(!found.plan({ ...journal, phase: "restarting" }, document(), false).changed);
  const gone = found.plan(journal, document(), false);
  assert.deepEqual([namesOf(gone.last), gone.matters], [there.names, false]);
  assert.ok(gone.last?.every(({ file }) => "absent" in file));
  const none = registeredBy(config({}), { ...fresh }, "All");
  assert.equal(none.plan(journal, document(), false).changed, false);
});

test("H18: a rollback of a registration takes the flags out, one of a later change leaves them", () => {
  const found = registeredBy(config({}), there, "All");
  const undo = { file: config({}).now, owned: nothing, revision: 1, content: "" };
  const journal: Journal = { ...firstJournal({ absent: true }), owned: nothing, undo };
  assert.deepEqual(env(found.planRestore(journal).last), [without]);
  const later = { ...journal, undo: { ...undo, owned: { ...nothing, flags: true as const } } };
  assert.equal(found.planRestore(later).changed, false);
});

test(
  "kubeadm's file is read as it is: missing, another's provider, or ours",
  { skip: needsProc },
  (t) => {
    const root = tree(t);
    assert.match(readTree(root, "All").unfit ?? "", /kubeadm-flags\.env is missing/);
    writeFileSync(join(root, kubeadmFlagsFile), withFlags(without));
    const found = readTree(root, "All");
    assert.deepEqual([found.unfit, found.flags, found.script], [undefined, "with", true]);
    const other = readTree(root, "Annotated");
    assert.deepEqual([other.unfit, other.otherScope, other.config], [undefined, true, undefined]);
    assert.equal(found.otherScope, false);
    const { providers, ...rest } = JSON.parse(readFileSync(join(root, configFile), "utf8"));
    const more = { ...rest, providers: [...providers, { ...providers[0], name: "another" }] };
    for (const spoilt of ["{}", JSON.stringify(more)]) {
      writeFileSync(join(root, configFile), spoilt);
      const { unfit, config: none } = readTree(root, "Annotated");
      assert.deepEqual([unfit, none], [undefined, undefined], "to be put back");
    }
    writeFileSync(
      join(root, kubeadmFlagsFile),
      without.replace("--v", "--image-credential-provider-x"),
    );
    assert.match(readTree(root, "All").unfit ?? "", /already/);
  },
);

test(
  "registered: a FIFO in the place of script or configuration is replaced, of answer or kubeadm's file refused",
  { skip: needsProc || needsFifo },
  async (t) => {
    const root = tree(t);
    const env = join(root, kubeadmFlagsFile);
    writeFileSync(env, withFlags(without));
    for (const name of [script, configFile]) makeFifo(join(root, name));
    const delivery = registeredProvider("All");
    const file = delivery.read(root);
    assert.ok("plan" in file);
    assert.equal(file.unfit, undefined);
    const planned = file.plan(undefined, document("a.io"), false);
    assert.deepEqual(namesOf(planned.first), [script, answer, configFile]);
    mkdirSync(join(root, nodeFiles.folder));
    await delivery.write(planned, file, root);
    const whole = readTree(root, "All");
    assert.deepEqual([whole.script, whole.config], [true, rowsFor([])]);
    for (const path of [join(root, answer), env]) {
      makeFifo(path);
      const found = delivery.read(root);
      assert.ok("unfit" in found);
      assert.match(found.unfit ?? "", new RegExp(`${basename(path)}: it is not a regular file`));
      assert.equal(unfitFor(found), "GPS236");
      rmSync(path);
      writeFileSync(path, path === env ? withFlags(without) : answerOf(new Map()), { mode: 0o600 });
    }
  },
);

function tree(t: TestContext): string {
  const root = mkdtempSync(join(tmpdir(), "gps-installed-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
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
  test(`a node is unfit for the provider: ${why.source}`, { skip: needsProc || needs }, (t) => {
    const root = tree(t);
    assert.equal(readInstalled(root, "All").unfit, undefined);
    spoil(root);
    const found = readInstalled(root, "All");
    assert.match(found.unfit ?? "", why);
    const file = preinstalledProvider("All").read(root);
    assert.ok("unfit" in file && file.unfit === found.unfit);
    assert.equal(unfitFor(file), "GPS235");
    const planned = file.plan(undefined, document("a.io"), false);
    assert.equal(planned.unfit, found.unfit);
    assert.equal(file.plan(undefined, document(), false).unfit, undefined);
  });

test("an answer that others can read is written anew", (t) => {
  const root = tree(t);
  chmodSync(join(root, answer), 0o644);
  const file = preinstalledProvider("All").read(root);
  assert.ok("plan" in file);
  assert.ok(file.plan(undefined, document(), false).last);
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
    `an answer that cannot be read is emptied by a withdrawal, since the kubelet may be served by it: ${what}`,
    { skip },
    async (t) => {
      for (const delivery of [preinstalledProvider("All"), configAfterProvider]) {
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

test("a folder that a killed agent left empty is still to be removed; one with others' files is not ours", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "gps-tree-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const names = () => readTree(directory, "All").names;
  assert.deepEqual(names(), []);
  mkdirSync(join(directory, dirname(script)), { recursive: true });
  assert.deepEqual(names(), [script]);
  writeFileSync(join(directory, dirname(script), "theirs"), "");
  assert.deepEqual(names(), []);
});
