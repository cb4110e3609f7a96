/** Executes steps in a real directory. Only systemd is a fake. */
import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import test, { type TestContext } from "node:test";
import { temporary } from "#test/temporary.ts";
import { act } from "./execute.ts";
import { answerOf } from "#pullsecret/provider.ts";
import { parseConfig } from "./facts/config.ts";
import {
  absent,
  decide,
  facts,
  idle,
  mounted,
  restarting,
  reviving,
  withdrawn,
} from "./facts/facts.fixture.ts";
import { type Delivery, isFound, type Rewrite } from "./delivery/delivery.ts";
import { identify } from "./files/atomic-write.ts";
import { Lock } from "./report/lock.ts";
import { configJson } from "./delivery/config-json/config-json.ts";
import { configAfterProvider } from "./delivery/provider/provider.ts";
import { History } from "./observe/stopwatch.ts";
import type { Step } from "./facts/step.ts";
import { SystemdError, RestartRefused } from "./systemd/connection.ts";
import type { Systemd } from "./systemd/systemd.ts";
import { firstJournal, type Journal } from "./journal/journal.ts";
import { saveJournal } from "./journal/store.ts";

function place(t: TestContext) {
  const directory = temporary(t);
  const asked: string[] = [];
  const systemd: Systemd = {
    unit: () => assert.fail(),
    states: () => assert.fail(),
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
    disconnect: () => {},
  };
  const parsed = parseConfig([`--kubelet-directory=${directory}`], {
    KUBERNETES_SERVICE_HOST: "::1",
    KUBERNETES_SERVICE_PORT: "1",
  });
  assert.ok(parsed.ok);
  const config = parsed.value;
  const history = new History(() => 0);
  const folder = join(directory, "global-pull-secret");
  return {
    effects: { config, systemd, history, delivery: configJson, lock: new Lock(folder) },
    asked,
    history,
    folder,
    file: join(directory, "config.json"),
  };
}

const restart = {
  action: "restart",
  code: "GPS217",
  again: 0,
  resetFirst: true,
} as const;
const readStoredJournal = (folder: string) =>
  JSON.parse(readFileSync(join(folder, "journal.json"), "utf8"));

test("if the journal cannot be written, restarts the kubelet only if it is stopped, and reports the failed write", async (t) => {
  const { effects, asked, history, folder } = place(t);
  // Nothing can be written into a folder that is a file.
  writeFileSync(folder, "");
  const revive: Step = { ...restart, journal: reviving, unasked: reviving, evenUnrecorded: true };
  await assert.rejects(act(revive, effects), /EEXIST|ENOTDIR|not a directory/);
  assert.deepEqual([asked, history.restarts, history.unwritable], [["reset", "restart"], 1, true]);
  const first: Step = {
    ...restart,
    journal: restarting,
    unasked: restarting,
    evenUnrecorded: false,
  };
  await assert.rejects(act(first, effects));
  assert.deepEqual(asked, ["reset", "restart", "reset"]);
  rmSync(folder);
  assert.equal(await act(revive, effects), "job done");
  assert.deepEqual([readStoredJournal(folder).phase, history.unwritable], ["reviving", false]);
});

test("keeps the journal unchanged if a file cannot be replaced, and tries again after a minute", async (t) => {
  for (const code of ["EBUSY", "EPERM", "EROFS", "EACCES"])
    for (const journal of [idle, undefined]) {
      const { effects, folder, history } = place(t);
      if (journal !== undefined) await saveJournal(folder, journal);
      const before = journal && readStoredJournal(folder);
      const write = () =>
        Promise.reject(Object.assign(new Error(`${code}: rename`), { code, syscall: "rename" }));
      const delivery = { ...effects.delivery, write };
      const step = decide(facts({ file: absent, ...(journal && { journal }) }));
      assert.ok(step.action === "apply");
      await assert.rejects(act(step, { ...effects, delivery }), /rename/);
      assert.match(history.blocked() ?? "", new RegExp(code));
      assert.equal(history.unwritable, false);
      if (journal === undefined) assert.ok(!existsSync(join(folder, "journal.json")));
      else assert.deepEqual(readStoredJournal(folder), before);
    }
});

test("removes our folder even if the write of files alone fails", async (t) => {
  const { effects, folder } = place(t);
  const write = () => Promise.reject(new Error("rename"));
  const absentFile = facts({ file: absent }).file;
  assert.ok(isFound(absentFile));
  const plan = { changed: true, file: { absent: true } } as const;
  const step: Step = {
    action: "clean",
    code: "GPS226",
    again: 0,
    plan,
    file: absentFile,
  };
  const failing = { ...effects, delivery: { ...effects.delivery, write } };
  await assert.rejects(act(step, failing), /rename/);
  assert.ok(!existsSync(folder));
});

test("after a write of only the provider's answer, removes our folder", async (t) => {
  const { effects, folder, file } = place(t);
  const name = "answer.json";
  const last = { name, bytes: Buffer.from("{}"), mode: 0o600, expected: "absent" };
  const plan = { changed: true, keepsConfig: true, file: { absent: true }, last } as const;
  const absentFile = { identity: "absent" };
  const step: Step = {
    action: "clean",
    code: "GPS226",
    again: 0,
    plan,
    file: absentFile,
  };
  await act(step, { ...effects, delivery: configAfterProvider });
  assert.equal(readFileSync(join(dirname(file), name), "utf8"), "{}");
  assert.ok(!existsSync(folder));
});

const first = { name: "answer.json", bytes: Buffer.alloc(0), mode: 0o600, expected: "absent" };

test("keeps the journal unchanged if the provider's answer, which is written first, cannot be replaced", async (t) => {
  for (const code of ["EXDEV", "EROFS", "EBUSY", "EPERM"]) {
    const { effects, folder, history } = place(t);
    await saveJournal(folder, idle);
    const before = readStoredJournal(folder);
    const step = decide(facts({ file: absent, journal: idle }));
    assert.ok(step.action === "apply");
    const write = () => Promise.reject(Object.assign(new Error(`${code}: rename`), { code }));
    const besides: Step = { ...step, plan: { ...step.plan, first } };
    await assert.rejects(act(besides, { ...effects, delivery: { ...effects.delivery, write } }));
    assert.deepEqual(readStoredJournal(folder), before);
    assert.ok(history.blocked() !== undefined);
  }
});

const former = answerOf(new Map([["a.io", { auth: "dTpw" }]]));

/** Executes a change that writes the answer, but then cannot replace config.json. */
async function applyBesides(t: TestContext, mayPutBack: boolean, formerAnswer: Buffer | undefined) {
  const { effects, folder, history, file } = place(t);
  const answer = join(dirname(file), first.name);
  await saveJournal(folder, idle);
  const before = readStoredJournal(folder);
  writeFileSync(answer, former, { mode: 0o600 });
  let writes = 0;
  const write: Delivery["write"] = async (rewrite, configFile, directory) => {
    writes += 1;
    if (writes === 1 || mayPutBack)
      await configAfterProvider.write({ ...rewrite, keepsConfig: true }, configFile, directory);
    if (!rewrite.keepsConfig || !mayPutBack)
      throw Object.assign(new Error("EPERM: rename config.json"), { code: "EPERM" });
  };
  const step = decide(facts({ file: absent, journal: idle }));
  assert.ok(step.action === "apply");
  const put = {
    ...first,
    expected: identify(answer),
    ...(formerAnswer && { former: formerAnswer }),
  };
  const besides: Step = { ...step, plan: { ...step.plan, first: put } };
  const delivery = { ...effects.delivery, write };
  await assert.rejects(act(besides, { ...effects, delivery }), /config\.json/);
  const isKept = JSON.stringify(readStoredJournal(folder)) === JSON.stringify(before);
  return {
    bytes: readFileSync(answer),
    isKept,
    blocked: history.blocked(),
    journal: readStoredJournal(folder),
  };
}

test("puts the old answer back and keeps the journal unchanged if config.json cannot be replaced", async (t) => {
  const { bytes, isKept, blocked } = await applyBesides(t, true, former);
  assert.deepEqual(bytes, former);
  assert.ok(isKept);
  assert.match(blocked ?? "", /Error/);
});

test("keeps the journal of the change if config.json cannot be replaced and the old answer is unknown or cannot be put back", async (t) => {
  for (const [mayPutBack, formerAnswer] of [
    [true, undefined],
    [false, former],
  ] as const) {
    const { bytes, blocked, journal } = await applyBesides(t, mayPutBack, formerAnswer);
    assert.deepEqual(bytes, first.bytes);
    assert.equal(journal.phase, "applying");
    assert.equal(blocked, undefined);
  }
});

test("if config.json is written but the answer cannot be emptied, keeps the journal of the withdrawal", async (t) => {
  const { effects, folder, history, file } = place(t);
  await saveJournal(folder, idle);
  const absentFile = facts({ file: absent }).file;
  assert.ok(isFound(absentFile));
  const write = () => {
    writeFileSync(file, "{}");
    return Promise.reject(Object.assign(new Error("EXDEV: rename"), { code: "EXDEV" }));
  };
  const journal: Journal = { ...idle, phase: "applying", matters: true };
  const plan = { ...absentFile.plan(idle, withdrawn, false), changed: true, last: first };
  const change = { action: "apply", code: "GPS226", again: 0 } as const;
  const step: Step = { ...change, journal, plan, file: absentFile, former: { journal: idle } };
  await assert.rejects(act(step, { ...effects, delivery: { ...effects.delivery, write } }));
  assert.deepEqual(
    [readStoredJournal(folder).phase, readStoredJournal(folder).matters],
    ["applying", true],
  );
  assert.equal(history.blocked(), undefined);
});

test("restarts a kubelet that a newer agent left stopped, without touching the newer agent's journal", async (t) => {
  const { effects, asked, folder } = place(t);
  mkdirSync(folder);
  writeFileSync(join(folder, "journal.json"), "a newer one's");
  await act({ action: "revive", code: "GPS222", again: 0, unit: "kubelet.service" }, effects);
  assert.deepEqual(asked, ["reset", "restart"]);
  assert.equal(readFileSync(join(folder, "journal.json"), "utf8"), "a newer one's");
});

test("restarts the kubelet if systemd refuses to reset failures, but not if systemd does not answer", async (t) => {
  const { effects, asked, folder } = place(t);
  mkdirSync(folder);
  const refusing = (type: string): Systemd => ({
    ...effects.systemd,
    resetFailed: () => Promise.reject(new SystemdError(type, "Unit kubelet.service not loaded.")),
  });
  const steps: readonly Step[] = [
    { ...restart, journal: restarting, unasked: restarting, evenUnrecorded: true },
    { action: "revive", code: "GPS222", again: 0, unit: "kubelet.service" },
  ];
  for (const step of steps) {
    // systemd has unloaded a stopped unit, or SELinux refuses the request.
    for (const why of ["systemd1.NoSuchUnit", "DBus.Error.AccessDenied"]) {
      const refuses = refusing(`org.freedesktop.${why}`);
      assert.equal(await act(step, { ...effects, systemd: refuses }), "job done");
    }
    const silent = refusing("org.freedesktop.DBus.Error.NoReply");
    await assert.rejects(act(step, { ...effects, systemd: silent }), /NoReply/);
  }
  assert.deepEqual(asked, Array(4).fill("restart"));
});

test("counts a refusal by systemd, but not a missing answer", async (t) => {
  const { effects, folder, history } = place(t);
  mkdirSync(folder);
  const step: Step = {
    ...restart,
    journal: restarting,
    unasked: restarting,
    evenUnrecorded: false,
  };
  const answering = (type: string): Systemd => ({
    ...effects.systemd,
    restart: async (_unit, recorded) => {
      await recorded();
      return { refused: new SystemdError(`org.freedesktop.DBus.Error.${type}`, "scripted") };
    },
  });
  const trying = (type: string) => act(step, { ...effects, systemd: answering(type) });
  await assert.rejects(trying("NoReply"), SystemdError);
  assert.equal(readStoredJournal(folder).denied, undefined);
  await assert.rejects(trying("AccessDenied"), RestartRefused);
  assert.equal(readStoredJournal(folder).denied.times, 1);
  assert.equal(history.restarts, 0);
});

test("removes other users' right to read the file, with a warning", async (t) => {
  const { effects, file } = place(t);
  const write = async (mode: number) => {
    writeFileSync(file, "{}");
    chmodSync(file, mode);
    const configFile = configJson.read(dirname(file));
    assert.ok(configFile.kind === "file");
    const planned = configFile.plan(undefined, mounted, false);
    const journal = {
      ...firstJournal(planned.before),
      ...(planned.fileMode && { left: planned.fileMode }),
    };
    const said = await act(
      {
        action: "apply",
        code: "GPS226",
        again: 0,
        journal,
        plan: planned,
        file: configFile,
      },
      effects,
    );
    assert.equal(statSync(file).mode & 0o777, 0o600);
    return said;
  };
  assert.match((await write(0o644)) ?? "", /^GPS253 .*mode 644/);
  assert.match((await write(0o640)) ?? "", /^GPS253 .*mode 640/);
  assert.equal(await write(0o600), undefined);
});

test("delays the next write after a write of a file beside config.json, but not after a removal", async (t) => {
  const { effects, history, file } = place(t);
  const delivery = { ...configJson, write: () => Promise.resolve() };
  const configFile = configJson.read(dirname(file));
  assert.ok(configFile.kind === "absent");
  const put = async (change: Partial<Rewrite>, spaced: boolean) => {
    const plan = { changed: true, file: configFile.now, ...change };
    const step = {
      action: "restore",
      code: "GPS216",
      again: 0,
      file: configFile,
    } as const;
    await act({ ...step, plan }, { ...effects, delivery });
    assert.equal(history.writeIn() > 0, spaced);
  };
  const answer = { name: "x", bytes: Buffer.from("{}"), mode: 0o600, expected: "absent" };
  await put({}, false);
  await put({ keepsConfig: true, last: answer }, true);
});
