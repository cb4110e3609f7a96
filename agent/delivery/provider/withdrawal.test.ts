/**
 * A withdrawal while config.json or the provider's answer cannot be used. Real files, without a
 * kubelet.
 */
import assert from "node:assert/strict";
import fs, {
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { temporary } from "#test/temporary.ts";
import { nodeFiles, providerFiles } from "#contract/names.ts";
import { answerOf } from "#pullsecret/provider.ts";
import {
  decide,
  facts,
  type FactsChange,
  follow,
  mounted,
  tried,
  withdrawn,
} from "#agent/facts/facts.fixture.ts";
import { digestOf, firstJournal, type Journal } from "#agent/journal/journal.ts";
import { installProvider } from "#test/faults/provider.ts";
import { type Delivery, isFound } from "../delivery.ts";
import { byProvider, configAfterProvider, readInstalled } from "./provider.ts";

const { folder, answer } = providerFiles;
const bytes = answerOf(new Map([["a.io", { auth: "dTpw" }]]));
const empty = answerOf(new Map());
const modes: readonly Delivery[] = [byProvider("All"), configAfterProvider];
const ours: Journal = {
  ...firstJournal({ absent: true }),
  revision: 6,
  content: "six",
  owned: { entries: [], rest: [], answer: digestOf(bytes) },
};

/** A node whose answer has a credential. */
function tree(t: TestContext): string {
  const root = temporary(t);
  installProvider(root);
  writeFileSync(join(root, answer), bytes, { mode: 0o600 });
  mkdirSync(join(root, nodeFiles.folder));
  return root;
}

const unseen: readonly (readonly [what: string, spoil: (root: string) => void])[] = [
  [
    "its folder is a link that leads out of our mount",
    (root) => {
      rmSync(join(root, folder), { recursive: true });
      symlinkSync("/nowhere/here", join(root, folder));
    },
  ],
  [
    "its folder is a link to itself",
    (root) => {
      rmSync(join(root, folder), { recursive: true });
      symlinkSync("pull-secret-provider", join(root, folder));
    },
  ],
];
for (const [what, spoil] of unseen)
  test(`does not complete a withdrawal while it cannot read the answer: ${what}`, (t) => {
    for (const delivery of modes) {
      const root = tree(t);
      spoil(root);
      const file = delivery.read(root);
      const { last, end } = follow({ file, mounted: withdrawn, journal: ours });
      assert.equal(`${last.action} ${last.code}`, "wait GPS206");
      assert.ok(!("result" in last));
      assert.match(last.detail ?? "", /pull-secret-provider/);
      assert.ok(end.journal.kind === "journal");
      assert.equal(end.journal.journal.owned.answer, ours.owned.answer);
    }
  });

test("if no answer is known to be ours, completes a withdrawal even if the agent cannot look for an answer", (t) => {
  const root = tree(t);
  rmSync(join(root, folder), { recursive: true });
  symlinkSync("/nowhere/here", join(root, folder));
  const without: Journal = { ...ours, owned: { entries: [], rest: [] } };
  const rows: readonly (readonly [when: string, change: FactsChange, then: string])[] = [
    ["content", { journal: without }, "nothing GPS224"],
    ["no content", { journal: firstJournal({ absent: true }) }, "nothing GPS224"],
    ["no journal, and none was lost", {}, "nothing GPS224"],
    ["an unverified journal", { journal: { ...without, unverified: true } }, "wait GPS206"],
    [
      "an unverified journal without content",
      { journal: { ...firstJournal({ absent: true }), unverified: true } },
      "wait GPS206",
    ],
    ["an earlier journal was lost", { journal: without, lost: true }, "wait GPS206"],
  ];
  for (const delivery of modes)
    for (const [when, change, then] of rows) {
      const { last, end } = follow({ file: delivery.read(root), mounted: withdrawn, ...change });
      assert.equal(`${last.action} ${last.code}`, then, when);
      // The next pod also needs the journal's doubt.
      const isKept = last.action === "wait" && change.journal !== undefined;
      assert.equal(end.journal.kind, isKept ? "journal" : "none", when);
    }
});

test("marks a new journal as unverified if the answer has a credential that no journal lists", (t) => {
  for (const delivery of modes)
    for (const mounted of [withdrawn, facts({}).mounted]) {
      const step = decide(facts({ file: delivery.read(tree(t)), mounted }));
      assert.ok("journal" in step);
      assert.equal(step.journal.unverified, true);
    }
});

test("completes a withdrawal if there is provably no answer", (t) => {
  for (const delivery of modes)
    for (const gone of [folder, answer])
      for (const isFile of [false, true]) {
        const root = tree(t);
        rmSync(join(root, gone), { recursive: true });
        if (isFile) writeFileSync(join(root, gone), empty, { mode: 0o600 });
        const file = delivery.read(root);
        assert.equal(follow({ file, journal: ours, mounted: withdrawn }).last.code, "GPS224");
      }
});

test("keeps the answer listed as ours after a change of the mode while the agent cannot read the answer", (t) => {
  const root = tree(t);
  rmSync(join(root, folder), { recursive: true });
  const read = () => {
    const file = configAfterProvider.read(root);
    return "plan" in file ? file : assert.fail("cannot be read");
  };
  const { mounted } = facts({});
  assert.ok(mounted?.kind === "document");
  const put = read().plan(ours, mounted, false);
  assert.ok(!("absent" in put.file));
  writeFileSync(join(root, nodeFiles.config), put.file.bytes, { mode: 0o600 });
  const next = { ...ours, owned: put.owned };
  // There is no answer any more, so there is nothing to write.
  assert.ok(!read().plan(next, mounted, false).changed);
  assert.equal(read().plan(next, mounted, false).owned.answer, undefined);
  symlinkSync("/nowhere/here", join(root, folder));
  assert.ok(!read().plan(next, mounted, false).changed);
  assert.equal(read().plan(next, mounted, false).owned.answer, ours.owned.answer);
});

const refused: readonly (readonly [what: string, spoil: (config: string) => void])[] = [
  ["a link", (config) => symlinkSync("/nowhere", config)],
  [
    "a file with a second name",
    (config) => {
      writeFileSync(config, "{}");
      linkSync(config, `${config}.bak`);
    },
  ],
];
const states: readonly (readonly [when: string, change: FactsChange])[] = [
  ["no journal", {}],
  ["no journal, because it was lost", { lost: true }],
  ["the journal lists the answer", { journal: ours }],
  ["a rollback", { journal: { ...tried(3, 0), phase: "restoring", owned: ours.owned } }],
  ["an interrupted write", { journal: { ...ours, phase: "applying" } }],
];
for (const [what, spoil] of refused)
  for (const [when, change] of states)
    test(`empties the answer on withdrawal although config.json is ${what}: ${when}`, async (t) => {
      for (const delivery of modes) {
        const root = tree(t);
        spoil(join(root, nodeFiles.config));
        const file = delivery.read(root);
        assert.equal(file.kind, "refused");
        const step = decide(facts({ file, mounted: withdrawn, ...change }));
        assert.ok(step.action === "clean" || step.action === "restore", step.action);
        // Our folder exists if there is a journal, or if a journal was lost.
        assert.equal(step.action, Object.keys(change).length > 0 ? "restore" : "clean");
        assert.ok(step.plan.keepsConfig);
        await delivery.write(step.plan, step.file, root);
        assert.deepEqual(readFileSync(join(root, answer)), empty);
        const then = decide(facts({ file: delivery.read(root), mounted: withdrawn, ...change }));
        assert.ok(!("plan" in then));
        if (change.journal) assert.notEqual(then.code, "GPS224");
      }
    });

test("empties the answer on withdrawal while config.json changes", (t) => {
  const file = byProvider("All").read(tree(t));
  assert.ok("answer" in file);
  const changing = { kind: "changing", answer: file.answer } as const;
  const step = decide(facts({ file: changing, mounted: withdrawn, journal: ours }));
  assert.equal(step.action, "restore");
});

test("empties the answer on withdrawal although config.json cannot be written", async (t) => {
  const root = tree(t);
  const file = configAfterProvider.read(root);
  assert.ok(file.kind === "absent");
  const owned = { ...ours.owned, entries: [{ key: "a.io", wrote: ["x"], displaced: [] }] };
  const planned = file.plan({ ...ours, owned }, withdrawn, false);
  const changed = { ...planned, keepsConfig: undefined, changed: true };
  const { keepsConfig: _keepsConfig, ...rewrite } = changed;
  writeFileSync(join(root, "other"), "{}");
  renameSync(join(root, "other"), join(root, nodeFiles.config));
  await assert.rejects(configAfterProvider.write(rewrite, file, root), /config\.json/);
  assert.deepEqual(readFileSync(join(root, answer)), empty);
});

const refusals: readonly (readonly [code: string, inPlace: boolean])[] = [
  ["EXDEV", true],
  ["EBUSY", true],
  ["EPERM", false],
  ["EROFS", false],
];
for (const [code, inPlace] of refusals)
  test(`${inPlace ? "overwrites an answer in place on withdrawal" : "reports an answer that it cannot empty"} if no file can be renamed to it: ${code}`, async (t) => {
    for (const delivery of modes) {
      const root = tree(t);
      const file = delivery.read(root);
      assert.ok(isFound(file));
      const { first, last, ...others } = file.plan(ours, withdrawn, false);
      assert.ok(last && others.keepsConfig && first === undefined);
      const refuses = () => {
        throw Object.assign(new Error(`${code}: rename`), { code, syscall: "rename" });
      };
      const mocked = t.mock.method(fs, "renameSync", refuses);
      syncBuiltinESMExports();
      const error = { code };
      try {
        const writes = delivery.write({ ...others, last }, file, root);
        if (inPlace) await writes;
        else await assert.rejects(writes, error);
        assert.deepEqual(readFileSync(join(root, answer)), inPlace ? empty : bytes);
        // A new answer is never written in place: the kubelet might read only a part of it.
        const { identity: expected } = readInstalled(root, "All");
        const put = { ...last, bytes, expected };
        const fresh = { ...others, first: put };
        await assert.rejects(delivery.write(fresh, file, root), error);
        assert.deepEqual(readFileSync(join(root, answer)), inPlace ? empty : bytes);
      } finally {
        mocked.mock.restore();
        syncBuiltinESMExports();
      }
    }
  });

test("does not empty the answer of a node that keeps its content, even if config.json is refused", (t) => {
  const root = tree(t);
  symlinkSync("/nowhere", join(root, nodeFiles.config));
  const file = byProvider("All").read(root);
  const waitingChanges: readonly FactsChange[] = [
    { order: "none", mounted: { ...mounted, served: true } },
    { mounted: { kind: "other", revision: 8 } },
    {},
  ];
  for (const change of waitingChanges)
    assert.equal(decide(facts({ file, journal: ours, ...change })).action, "wait");
});
