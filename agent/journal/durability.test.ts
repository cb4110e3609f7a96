/** The order in which a commit syncs and renames, which the promises after a power failure need. */
import assert from "node:assert/strict";
import { promises, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import test, { type TestContext } from "node:test";
import { watching } from "#test/agent/effects.ts";
import { temporary } from "#test/temporary.ts";
import { overlay } from "../delivery/config-json/overlay.ts";
import { before, restarting } from "../facts/facts.fixture.ts";
import { identify } from "../files/atomic-write.ts";
import { removeFolder } from "./folder.ts";
import { firstJournal, type Journal, unreadablePrefix } from "./journal.ts";
import { commit, saveJournal } from "./store.ts";

function place(t: TestContext) {
  const root = temporary(t);
  const [target, folder] = [join(root, "config.json"), join(root, "own")];
  const put = (journal: Journal, former: Journal | undefined) => {
    const file = overlay(journal.theirs, journal.content);
    const expected = identify(target);
    return commit(target, folder, { journal, former, file, expected, unreadable: undefined });
  };
  /** The syncs, renames and removals of `work`, with the names of their files. */
  const callsOf = async (work: () => Promise<void>) => {
    const calls: string[] = [];
    const nameOf = (path: string) => (path === root ? "the directory" : basename(path));
    const { open } = promises;
    const mocked = t.mock.method(promises, "open", async (...given: Parameters<typeof open>) => {
      calls.push(`sync ${nameOf(String(given[0]))}`);
      return await open(...given);
    });
    await watching(({ call, path, from }) => {
      if (call === "renameSync" && !/\.staged\.\d+$/.test(from))
        calls.push(`rename ${nameOf(from)} to ${nameOf(path)}`);
      if (call === "unlinkSync") calls.push(`remove ${nameOf(path)}`);
    }, work);
    mocked.mock.restore();
    const staging = /^remove .*\.(staged|removing|removed)$/;
    return calls.filter((call) => !staging.test(call));
  };
  return { folder, put, callsOf };
}

test("syncs what a commit stages before its renames, and each rename before the next", async (t) => {
  const { put, callsOf } = place(t);
  await put(before, undefined);
  assert.deepEqual(await callsOf(() => put(restarting, before)), [
    "sync config.json.staged",
    "sync own",
    "sync commit.staged",
    "sync own",
    "rename config.json.staged to config.json",
    "sync the directory",
    "rename commit.staged to journal.json",
    "sync own",
  ]);
});

test("syncs the name of our new folder before anything in it", async (t) => {
  const { put, callsOf } = place(t);
  const [first] = await callsOf(() => put(before, undefined));
  assert.equal(first, "sync the directory");
});

test("syncs the removal of a copy before a journal without its credential", async (t) => {
  const { folder, callsOf } = place(t);
  await saveJournal(folder, before, undefined);
  const copy = `${unreadablePrefix}1`;
  writeFileSync(join(folder, copy), '{"auth":"dTpvbGQ=",');
  const calls = await callsOf(() => saveJournal(folder, firstJournal(before.theirs), before));
  assert.deepEqual(calls.slice(0, 2), [`remove ${copy}`, "sync own"]);
});

test("syncs the removal of a file before the journal describes it", async (t) => {
  const { put, callsOf } = place(t);
  await put(before, undefined);
  const calls = await callsOf(() => put(firstJournal({ absent: true }), before));
  const from = calls.indexOf("rename config.json to config.json.staged.removed");
  assert.deepEqual(calls.slice(from, from + 4), [
    "rename config.json to config.json.staged.removed",
    "sync the directory",
    "sync own",
    "rename commit.staged to journal.json",
  ]);
});

test("removes copies before the journal, syncs its removal before that of the file that it names, and then our folder's", async (t) => {
  const { folder, callsOf } = place(t);
  await saveJournal(folder, before, undefined);
  writeFileSync(join(folder, `${unreadablePrefix}1`), "{");
  const calls = await callsOf(() => removeFolder(folder, () => {}));
  assert.deepEqual(
    calls.map((call) => call.replace(/theirs-.*/, "theirs")),
    [
      `remove ${unreadablePrefix}1`,
      "remove journal.json",
      "sync own",
      "remove theirs",
      "sync the directory",
    ],
  );
});
