/** Executes steps in a real directory. Only systemd is a fake. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { providerFiles } from "#contract/names.ts";
import { temporary } from "#test/temporary.ts";
import { overlay } from "./delivery/config-json/overlay.ts";
import { emptyAnswer } from "./delivery/provider/places.ts";
import { act, type Effects } from "./execute.ts";
import { before, idle, restarting, reviving } from "./facts/facts.fixture.ts";
import { record, type Step } from "./facts/step.ts";
import { FileChanged, identify } from "./files/atomic-write.ts";
import type { Journal } from "./journal/journal.ts";
import { readStore, saveJournal } from "./journal/store.ts";
import { History } from "./observe/stopwatch.ts";
import { RestartRefused, SystemdError } from "./systemd/connection.ts";

type Restart = Effects["systemd"]["restart"];

function place(t: TestContext) {
  const directory = temporary(t);
  const asked: string[] = [];
  const unsaved: Journal[] = [];
  const history = new History(() => 0);
  const folder = join(directory, "global-pull-secret");
  const target = join(directory, "config.json");
  const restart: Restart = async (_unit, recorded) => {
    await recorded();
    asked.push("restart");
    return { result: "done" };
  };
  const effects: Effects = {
    config: { kubeletDirectory: directory, hostsDirectory: join(directory, "certs.d") },
    systemd: { restart, resetFailed: () => Promise.resolve(void asked.push("reset")) },
    history,
    lock: { release: () => asked.push("release") },
    unsaved: (journal) => unsaved.push(journal),
  };
  return { directory, asked, unsaved, history, folder, target, effects };
}

function commitOf(journal: Journal, expected: string): Step {
  const file = overlay(journal.theirs, journal.content);
  return {
    action: "commit",
    code: "GPS226",
    again: 0,
    commit: { journal, former: before, file, expected, unreadable: undefined },
  };
}

const again: Step = {
  action: "restart",
  code: "GPS214",
  again: 0,
  unit: "kubelet.service",
  journal: reviving,
  former: restarting,
  resetFirst: true,
  refused: undefined,
};

test("writes file and journal, and delays the next write", async (t) => {
  const { effects, target, folder, history } = place(t);
  await act(commitOf(restarting, "absent"), effects);
  assert.match(readFileSync(target, "utf8"), /a\.io/);
  assert.equal(statSync(target).mode & 0o777, 0o600);
  assert.deepEqual(await readStore(folder), { kind: "journal", journal: restarting });
  assert.ok(history.writeIn() > 0);
  assert.equal(history.blocked(), undefined);
});

test("delays the next write if another program writes, but does not call the disk unwritable", async (t) => {
  const { effects, target, history } = place(t);
  writeFileSync(target, "{}");
  await assert.rejects(act(commitOf(restarting, "absent"), effects), FileChanged);
  assert.ok(history.writeIn() > 0);
  assert.equal(history.blocked(), undefined);
});

test("delays the next write after another program's change was recorded", async (t) => {
  const { effects, history } = place(t);
  await act(record("GPS200", idle, undefined), effects);
  assert.equal(history.writeIn(), 0);
  await act(record("GPS268", idle, undefined), effects);
  assert.ok(history.writeIn() > 0);
});

test("forgets former writes when the node takes new content", async (t) => {
  for (const [take, wait] of [
    [commitOf(idle, "absent"), 1000],
    [record("GPS226", idle, undefined), 0],
  ] as const) {
    const { effects, history } = place(t);
    for (let writes = 0; writes < 5; writes += 1) history.wrote();
    await act(take, effects);
    assert.equal(history.writeIn(), wait);
  }
});

test("remembers why a write failed", async (t) => {
  const { effects, folder, history, target } = place(t);
  writeFileSync(folder, "");
  await assert.rejects(act(commitOf(restarting, identify(target)), effects), /not a directory/);
  assert.match(history.blocked() ?? "", /not a directory/);
  rmSync(folder);
  await act(commitOf(restarting, identify(target)), effects);
  assert.equal(history.blocked(), undefined);
});

test("writes the provider's answer before config.json", async (t) => {
  const { effects, directory, target } = place(t);
  mkdirSync(join(directory, providerFiles.folder));
  const answer = { bytes: Buffer.from("{}"), expected: "absent" };
  const step = { ...commitOf(idle, "changed"), answer } as Step;
  await assert.rejects(act(step, effects), FileChanged);
  assert.equal(readFileSync(join(directory, providerFiles.answer), "utf8"), "{}");
  assert.ok(!existsSync(target));
});

test("empties the answer", async (t) => {
  const { effects, directory } = place(t);
  const path = join(directory, providerFiles.answer);
  mkdirSync(join(directory, providerFiles.folder));
  writeFileSync(path, "old");
  const answer = { bytes: emptyAnswer, expected: identify(path) };
  await act({ action: "answer", code: "GPS226", again: 0, answer }, effects);
  assert.deepEqual(readFileSync(path), emptyAnswer);
});

test("writes hosts.toml, and delays the next write unless a credential left", async (t) => {
  for (const removals of [[false], [true], [true, false], [false, true]]) {
    const { effects, history } = place(t);
    mkdirSync(effects.config.hostsDirectory);
    const file = { bytes: Buffer.from("# ours"), mode: 0o600 };
    const changes = removals.map((isRemoval, at) => ({
      directory: `${at}.io`,
      file,
      expected: "absent",
      isRemoval,
      isOurDirectory: false,
    }));
    await act({ action: "hosts", code: "GPS226", again: 0, hosts: changes }, effects);
    assert.equal(history.writeIn() > 0, !removals.includes(true));
  }
});

test("records the journal before a restart", async (t) => {
  const { effects, asked, folder } = place(t);
  await saveJournal(folder, restarting, undefined);
  assert.equal(await act(again, effects), "job done");
  assert.deepEqual(asked, ["reset", "restart"]);
  assert.deepEqual(await readStore(folder), { kind: "journal", journal: reviving });
});

test("starts a dead kubelet although the journal cannot be written, and hands the journal over", async (t) => {
  const { effects, asked, folder, unsaved, history } = place(t);
  writeFileSync(folder, "");
  assert.equal(await act(again, effects), "job done");
  assert.deepEqual(asked, ["reset", "restart"]);
  assert.deepEqual(unsaved, [reviving]);
  assert.match(history.blocked() ?? "", /not a directory/);
});

const refusing =
  (type: string): Restart =>
  async (_unit, recorded) => {
    await recorded();
    return { refused: new SystemdError(`org.freedesktop.DBus.Error.${type}`, "scripted") };
  };

test("takes the request back if systemd does not restart a living process, and gives up if it refuses", async (t) => {
  const { effects, folder } = place(t);
  await saveJournal(folder, restarting, undefined);
  const asked = { ...restarting, asked: { boot: "b", monotonic: 999_999 } };
  const step = { ...again, journal: asked, resetFirst: false, refused: idle };
  const trying = (type: string) =>
    act(step, { ...effects, systemd: { ...effects.systemd, restart: refusing(type) } });
  await assert.rejects(trying("NoReply"), SystemdError);
  assert.deepEqual(await readStore(folder), { kind: "journal", journal: restarting });
  await assert.rejects(trying("AccessDenied"), RestartRefused);
  assert.deepEqual(await readStore(folder), { kind: "journal", journal: idle });
});

test("keeps the time of a refused request to start a dead process", async (t) => {
  const { effects, folder } = place(t);
  await saveJournal(folder, restarting, undefined);
  for (const [type, kind] of [
    ["AccessDenied", RestartRefused],
    ["LimitsExceeded", SystemdError],
  ] as const) {
    const systemd = { ...effects.systemd, restart: refusing(type) };
    await assert.rejects(act(again, { ...effects, systemd }), kind);
    assert.deepEqual(await readStore(folder), { kind: "journal", journal: reviving });
  }
});

test("restarts the kubelet if systemd refuses to reset failures, but not if systemd does not answer", async (t) => {
  const { effects, asked } = place(t);
  const trying = (type: string) => {
    const error = new SystemdError(`org.freedesktop.${type}`, "Unit kubelet.service not loaded.");
    const systemd = { ...effects.systemd, resetFailed: () => Promise.reject(error) };
    return act(again, { ...effects, systemd });
  };
  // systemd has unloaded a stopped unit, or SELinux refuses the request.
  for (const type of ["systemd1.NoSuchUnit", "DBus.Error.AccessDenied"])
    assert.equal(await trying(type), "job done");
  await assert.rejects(trying("DBus.Error.NoReply"), /NoReply/);
  assert.deepEqual(asked, ["restart", "restart"]);
});

test("removes our folder and releases the lock", async (t) => {
  const { effects, asked, folder } = place(t);
  await saveJournal(folder, idle, undefined);
  await act({ action: "leave", code: "GPS224", again: 0 }, effects);
  assert.ok(!existsSync(folder));
  assert.deepEqual(asked, ["release"]);
});
