/** What is done for a step, on a real directory; only systemd is a fake. */
import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import test, { type TestContext } from "node:test";
import { act } from "./execute.ts";
import { parseConfig } from "./config/config.ts";
import {
  absent,
  decide,
  facts,
  idle,
  mounted,
  restarting,
  reviving,
} from "./facts/facts.fixture.ts";
import { isFound } from "./decide/unreadable-file.ts";
import { Lock } from "./report/lock.ts";
import { configJson } from "./delivery/config-json/config-json.ts";
import type { Rewrite } from "./delivery/delivery.ts";
import { Deeds } from "./observe/stopwatch.ts";
import type { Step } from "./facts/step.ts";
import { SystemdError, RestartRefused } from "./systemd/connection.ts";
import type { Systemd } from "./systemd/systemd.ts";
import { firstJournal } from "./journal/journal.ts";
import { keepJournal } from "./journal/store.ts";

function place(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), "gps-act-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const asked: string[] = [];
  const systemd: Systemd = {
    unit: () => assert.fail(),
    states: () => assert.fail(),
    surroundings: () => assert.fail(),
    restart: async (_unit, recorded) => {
      try {
        await recorded();
      } catch (error) {
        return { refused: error as Error };
      }
      asked.push("restart");
      return { result: "done" };
    },
    resetFailed: () => Promise.resolve(void asked.push("reset")),
    hangUp: () => {},
  };
  const parsed = parseConfig([`--kubelet-directory=${directory}`], {});
  assert.ok(parsed.ok);
  const config = parsed.value;
  const deeds = new Deeds(() => 0);
  const folder = join(directory, "global-pull-secret");
  return {
    hands: { config, systemd, deeds, delivery: configJson, lock: new Lock(folder) },
    asked,
    deeds,
    folder,
    file: join(directory, "config.json"),
  };
}

const restart = {
  action: "restart",
  code: "GPS217",
  ready: false,
  again: 0,
  resetFirst: true,
} as const;
const kept = (folder: string) => JSON.parse(readFileSync(join(folder, "journal.json"), "utf8"));

test("a kubelet that is down is restarted though that cannot be recorded, and the trouble is told; one that runs is not", async (t) => {
  const { hands, asked, deeds, folder } = place(t);
  // Whatever the reason: nothing can be written in a folder that is a file.
  writeFileSync(folder, "");
  const revive: Step = { ...restart, journal: reviving, unasked: reviving, evenUnrecorded: true };
  await assert.rejects(act(revive, hands), /EEXIST|ENOTDIR|not a directory/);
  assert.deepEqual([asked, deeds.restarts, deeds.unwritable], [["reset", "restart"], 1, true]);
  const first: Step = {
    ...restart,
    journal: restarting,
    unasked: restarting,
    evenUnrecorded: false,
  };
  await assert.rejects(act(first, hands));
  assert.deepEqual(asked, ["reset", "restart", "reset"]);
  rmSync(folder);
  assert.equal(await act(revive, hands), "job done");
  assert.deepEqual([kept(folder).phase, deeds.unwritable], ["reviving", false]);
});

test("a file that may not be replaced leaves the journal as it was, and is not tried for a minute", async (t) => {
  for (const code of ["EBUSY", "EPERM", "EROFS", "EACCES"])
    for (const journal of [idle, undefined]) {
      const { hands, folder, deeds } = place(t);
      if (journal !== undefined) await keepJournal(folder, journal);
      const before = journal && kept(folder);
      const write = () =>
        Promise.reject(Object.assign(new Error(`${code}: rename`), { code, syscall: "rename" }));
      const delivery = { ...hands.delivery, write };
      const step = decide(facts({ file: absent, ...(journal && { journal }) }));
      assert.ok(step.action === "apply");
      await assert.rejects(act(step, { ...hands, delivery }), /rename/);
      assert.match(deeds.barred() ?? "", new RegExp(code));
      assert.equal(deeds.unwritable, false);
      if (journal === undefined) assert.ok(!existsSync(join(folder, "journal.json")));
      else assert.deepEqual(kept(folder), before);
    }
});

test("removes our folder also when an old copy cannot be taken out", async (t) => {
  const { hands, folder, deeds } = place(t);
  const write = () => Promise.reject(new Error("rename"));
  const found = facts({ file: absent }).file;
  assert.ok(isFound(found));
  const plan = { changed: true, file: { absent: true } } as const;
  const step: Step = { action: "clean", code: "GPS226", ready: false, again: 0, plan, found };
  await assert.rejects(act(step, { ...hands, delivery: { ...hands.delivery, write } }), /rename/);
  assert.ok(!existsSync(folder));
  assert.equal(deeds.sinceCleaned(), Number.POSITIVE_INFINITY);
});

test("a file that may not be replaced keeps the journal of a change whose answer is written already", async (t) => {
  const { hands, folder } = place(t);
  await keepJournal(folder, idle);
  const write = () => Promise.reject(Object.assign(new Error("EPERM: rename"), { code: "EPERM" }));
  const step = decide(facts({ file: absent, journal: idle }));
  assert.ok(step.action === "apply");
  const first = { name: "answer.json", bytes: Buffer.alloc(0), mode: 0o600, expected: "absent" };
  const besides: Step = { ...step, plan: { ...step.plan, first } };
  await assert.rejects(act(besides, { ...hands, delivery: { ...hands.delivery, write } }));
  assert.equal(kept(folder).phase, "applying");
});

test("a kubelet of a newer agent's is restarted, and its journal stays as it is", async (t) => {
  const { hands, asked, folder } = place(t);
  mkdirSync(folder);
  writeFileSync(join(folder, "journal.json"), "a newer one's");
  await act(
    { action: "revive", code: "GPS222", ready: false, again: 0, unit: "kubelet.service" },
    hands,
  );
  assert.deepEqual(asked, ["reset", "restart"]);
  assert.equal(readFileSync(join(folder, "journal.json"), "utf8"), "a newer one's");
});

test("a refused reset does not keep a kubelet from its restart; a reset without an answer does", async (t) => {
  const { hands, asked, folder } = place(t);
  mkdirSync(folder);
  const refusing = (type: string): Systemd => ({
    ...hands.systemd,
    resetFailed: () => Promise.reject(new SystemdError(type, "Unit kubelet.service not loaded.")),
  });
  const steps: readonly Step[] = [
    { ...restart, journal: restarting, unasked: restarting, evenUnrecorded: true },
    { action: "revive", code: "GPS222", ready: false, again: 0, unit: "kubelet.service" },
  ];
  for (const step of steps) {
    // systemd has unloaded a stopped unit, or SELinux says no.
    for (const why of ["systemd1.NoSuchUnit", "DBus.Error.AccessDenied"]) {
      const refuses = refusing(`org.freedesktop.${why}`);
      assert.equal(await act(step, { ...hands, systemd: refuses }), "job done");
    }
    const silent = refusing("org.freedesktop.DBus.Error.NoReply");
    await assert.rejects(act(step, { ...hands, systemd: silent }), /NoReply/);
  }
  assert.deepEqual(asked, Array(4).fill("restart"));
});

test("a restart that systemd refuses is counted, and one that nobody answered is not", async (t) => {
  const { hands, folder, deeds } = place(t);
  mkdirSync(folder);
  const step: Step = {
    ...restart,
    journal: restarting,
    unasked: restarting,
    evenUnrecorded: false,
  };
  const answering = (type: string): Systemd => ({
    ...hands.systemd,
    restart: async (_unit, recorded) => {
      await recorded();
      return { refused: new SystemdError(`org.freedesktop.DBus.Error.${type}`, "scripted") };
    },
  });
  const trying = (type: string) => act(step, { ...hands, systemd: answering(type) });
  await assert.rejects(trying("NoReply"), SystemdError);
  assert.equal(kept(folder).denied, undefined);
  await assert.rejects(trying("AccessDenied"), RestartRefused);
  assert.equal(kept(folder).denied.times, 1);
  assert.equal(deeds.restarts, 0);
});

test("a file that others could read is closed to them, with a warning", async (t) => {
  const { hands, file } = place(t);
  const write = async (mode: number) => {
    writeFileSync(file, "{}");
    chmodSync(file, mode);
    const found = configJson.read(dirname(file));
    assert.ok(found.kind === "file");
    const planned = found.plan(undefined, mounted, false);
    const journal = {
      ...firstJournal(planned.before),
      ...(planned.left && { left: planned.left }),
    };
    const said = await act(
      { action: "apply", code: "GPS226", ready: false, again: 0, journal, plan: planned, found },
      hands,
    );
    assert.equal(statSync(file).mode & 0o777, 0o600);
    return said;
  };
  assert.match((await write(0o644)) ?? "", /^GPS253 .*mode 644/);
  assert.match((await write(0o640)) ?? "", /^GPS253 .*mode 640/);
  assert.equal(await write(0o600), undefined);
});

test("a write beside config.json is spaced like one of it, so that a fight over it costs as little; a removal is not", async (t) => {
  const { hands, deeds, file } = place(t);
  const delivery = { ...configJson, write: () => Promise.resolve() };
  const found = configJson.read(dirname(file));
  assert.ok(found.kind === "absent");
  const put = async (change: Partial<Rewrite>, spaced: boolean) => {
    const plan = { changed: true, file: found.now, ...change };
    const step = { action: "restore", code: "GPS216", ready: false, again: 0, found } as const;
    await act({ ...step, plan }, { ...hands, delivery });
    assert.equal(deeds.writeIn() > 0, spaced);
  };
  const answer = { name: "x", bytes: Buffer.from("{}"), mode: 0o600, expected: "absent" };
  await put({}, false);
  await put({ kept: true, last: answer }, true);
});
