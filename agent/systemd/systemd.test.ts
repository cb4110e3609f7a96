/** Requests to systemd over its own socket, and which of its errors are definite. */
import assert from "node:assert/strict";
import { join } from "node:path";
import test from "node:test";
import { setImmediate as soon } from "node:timers/promises";
import { NodeDirectory } from "#test/harness/agent/node-directory.ts";
import { comesBack, questioned, ScriptedSystemd } from "#test/harness/agent/scripted-systemd.ts";
import { connectTo, SystemdError, isDefinite, NoSystemd, Silence, Stopped } from "./connection.ts";
import { type Systemd, systemdOver } from "./systemd.ts";
import { readStates, readUnit, type Unit } from "./unit.ts";

const over = ({ systemd }: NodeDirectory) => systemdOver(systemd, new AbortController().signal);

test("reads and restarts a unit over systemd's own socket, with only three D-Bus methods", async () => {
  using node = new NodeDirectory();
  await using fake = await ScriptedSystemd.start(node.systemd);
  const systemd = over(node);
  const before = await systemd.unit(fake.unit);
  assert.equal(before.active, "active");
  const restarted = await systemd.restart(fake.unit, () => Promise.resolve());
  assert.deepEqual(restarted, { result: "done" });
  assert.notEqual((await systemd.unit(fake.unit)).invocation, before.invocation);
  await systemd.resetFailed(fake.unit);
  const members = new Set(fake.calls.map((call) => call.split(" ")[0] ?? ""));
  assert.deepEqual([...members].toSorted(), ["Get", "ResetFailedUnit", "RestartUnit"]);
  fake.script = [{ after: "unchanged", error: "org.freedesktop.DBus.Error.AccessDenied" }];
  const refused = await systemd.restart(fake.unit, () => Promise.resolve());
  assert.match("refused" in refused ? refused.refused.message : "", /AccessDenied/);
  systemd.disconnect();
});

const properties: readonly (readonly [
  what: string,
  change: Partial<ScriptedSystemd>,
  expected: Partial<Unit>,
])[] = [
  ["a unit that runs", {}, { load: "loaded", active: "active", sub: "running", result: "success" }],
  ["no job and no refusal", {}, { busy: false, refuses: false, restarts: 0, startLimit: 0 }],
  ["a unit that failed", { active: "failed", sub: "failed" }, { active: "failed", sub: "failed" }],
  ["the reason of a failure", { result: "exit-code" }, { result: "exit-code" }],
  ["a unit without a file", { load: "not-found" }, { load: "not-found" }],
  ["another client's job", { job: 5 }, { busy: true }],
  ["a unit that refuses a start", { canStart: false }, { refuses: true }],
  ["a unit that refuses a stop", { canStop: false }, { refuses: true }],
  ["the process", { mainPid: 77, restarts: 3 }, { mainPid: 77, restarts: 3 }],
  ["when the process began", { startedMicros: 5500n }, { started: 5.5 }],
  ["the invocation", { invocation: Buffer.from([0, 1, 255]) }, { invocation: "0001ff" }],
  ["a part of a millisecond", { startLimitMicros: 10_001n }, { startLimit: 11 }],
  ["an infinite start limit", { startLimitMicros: 2n ** 64n - 1n }, { startLimit: 0 }],
];
for (const [what, change, expected] of properties)
  test(`reads ${what} from the unit's properties`, async () => {
    using node = new NodeDirectory();
    await using fake = await ScriptedSystemd.start(node.systemd);
    Object.assign(fake, change);
    const systemd = over(node);
    const unit = await systemd.unit(fake.unit);
    systemd.disconnect();
    assert.deepEqual({ ...unit, ...expected }, unit);
  });

test("reads a unit again that changes while it is read", async () => {
  using node = new NodeDirectory();
  await using fake = await ScriptedSystemd.start(node.systemd);
  fake.onCall = (call) => {
    if (call === "Get Result" && fake.mainPid === 1000) fake.started();
  };
  const systemd = over(node);
  const unit = await systemd.unit(fake.unit);
  systemd.disconnect();
  const { mainPid, invocation } = fake;
  assert.deepEqual([unit.mainPid, unit.invocation], [mainPid, invocation.toString("hex")]);
  assert.equal(mainPid, 1001);
});

test("reads which units exist and are active, whatever characters their names have", async () => {
  using node = new NodeDirectory();
  await using fake = await ScriptedSystemd.start(node.systemd);
  fake.others.set("k3s.service", "inactive").set("rke2-server.service", "active");
  fake.others.set("2a@_.service", "activating");
  const systemd = over(node);
  const states = await systemd.states([fake.unit, ...fake.others.keys(), "absent.service"]);
  systemd.disconnect();
  assert.deepEqual(
    states.map(({ name, load, active }) => `${name} ${load} ${active}`),
    [
      "kubelet.service loaded active",
      "k3s.service loaded inactive",
      "rke2-server.service loaded active",
      "2a@_.service loaded activating",
      "absent.service not-found inactive",
    ],
  );
});

test("takes a value of another type, or no value, for an unknown one", async () => {
  type Variant = Readonly<{ value?: unknown }> | null;
  const values: readonly Variant[] = [null, {}, { value: null }, { value: {} }, { value: [] }];
  const answers: readonly Variant[][] = [[], ...values.map((value) => [value])];
  for (const answer of answers) {
    const peer = { call: async () => answer, resultOf: () => assert.fail() };
    assert.deepEqual(await readStates(peer, ["a"]), [{ name: "a", load: "", active: "" }]);
    const texts = { name: "a", load: "", active: "", sub: "", invocation: "", result: "" };
    const numbers = { mainPid: 0, started: 0, restarts: 0, startLimit: 0 };
    const busy = Array.isArray(answer[0]?.value);
    assert.deepEqual(await readUnit(peer, "a"), { ...texts, ...numbers, busy, refuses: false });
  }
});

test("does not ask a silent systemd again", async () => {
  using node = new NodeDirectory();
  await using fake = await ScriptedSystemd.start(node.systemd);
  const { signal } = new AbortController();
  const systemd = systemdOver(node.systemd, signal, { question: 300, job: 5000 });
  fake.silent.add("Get");
  await assert.rejects(systemd.unit(fake.unit), Silence);
  // On a busy machine, the time can end before the question has arrived.
  assert.ok(fake.calls.filter((call) => call === questioned).length <= 1);
});

const waits: readonly (readonly [
  what: string,
  milliseconds: number,
  silent: "Get" | "RestartUnit",
  ask: (systemd: Systemd, unit: string) => Promise<unknown>,
  outcome: unknown,
])[] = [
  [
    "10 s for an answer",
    10_000,
    "Get",
    (systemd, unit) => systemd.unit(unit).catch((error: Error) => error.constructor),
    Silence,
  ],
  [
    "210 s for the end of a restart",
    210_000,
    "RestartUnit",
    (systemd, unit) => systemd.restart(unit, () => Promise.resolve()),
    { result: "unknown" },
  ],
];
for (const [what, milliseconds, silent, ask, outcome] of waits)
  test(`waits ${what}, and no longer`, { timeout: 10_000 }, async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    using node = new NodeDirectory();
    await using fake = await ScriptedSystemd.start(node.systemd);
    fake.silent.add(silent);
    const outcomes: unknown[] = [];
    const asked = ask(over(node), fake.unit).then((is) => outcomes.push(is));
    while (!fake.calls.some((call) => call.startsWith(silent))) await soon();
    t.mock.timers.tick(milliseconds - 1);
    await soon();
    assert.deepEqual(outcomes, []);
    t.mock.timers.tick(1);
    await asked;
    assert.deepEqual(outcomes, [outcome]);
  });

for (const [what, , silent, ask, outcome] of waits)
  test(`stops waiting ${what} when the agent is being stopped`, async () => {
    using node = new NodeDirectory();
    await using fake = await ScriptedSystemd.start(node.systemd);
    fake.silent.add(silent);
    const stop = new AbortController();
    fake.onCall = () => stop.abort();
    const systemd = systemdOver(node.systemd, stop.signal, { question: 5000, job: 5000 });
    assert.deepEqual(await ask(systemd, fake.unit), outcome === Silence ? Stopped : outcome);
  });

test("notices that systemd closed an idle connection", { timeout: 10_000 }, async () => {
  using node = new NodeDirectory();
  await using fake = await ScriptedSystemd.start(node.systemd);
  const path = join(node.systemd, "private");
  const connection = await connectTo(path, new AbortController().signal);
  await connection.within(5000, (systemd) => readStates(systemd, [fake.unit]));
  assert.equal(connection.broken(), false);
  fake.die();
  while (!connection.broken()) await soon();
  connection.close();
});

test("requests no restart that cannot be recorded", async () => {
  using node = new NodeDirectory();
  await using fake = await ScriptedSystemd.start(node.systemd);
  const refused = new Error("the disk is full");
  assert.deepEqual(await over(node).restart(fake.unit, () => Promise.reject(refused)), { refused });
  assert.deepEqual(fake.calls, []);
});

test("finds the end of its job among the ends of many jobs, even if all end before the reply", async () => {
  using node = new NodeDirectory();
  await using fake = await ScriptedSystemd.start(node.systemd);
  fake.script = [{ ...comesBack, signalFirst: true, otherJobs: 100 }];
  const systemd = systemdOver(node.systemd, new AbortController().signal, {
    question: 5000,
    job: 5000,
  });
  const restarted = await systemd.restart(fake.unit, () => Promise.resolve());
  assert.deepEqual(restarted, { result: "done" });
});

test("reports a node without systemd's socket", async () => {
  using node = new NodeDirectory();
  await assert.rejects(over(node).unit("kubelet.service"), NoSystemd);
});

/** Errors of org.freedesktop.systemd1(5) and of sd-bus (sd-bus-errors(3)). */
const errors: Readonly<Record<string, "answers" | "decides nothing">> = {
  "org.freedesktop.DBus.Error.AccessDenied": "answers",
  "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired": "answers",
  "org.freedesktop.DBus.Error.UnknownProperty": "answers",
  "org.freedesktop.DBus.Error.NoReply": "decides nothing",
  "org.freedesktop.DBus.Error.Timeout": "decides nothing",
  "org.freedesktop.DBus.Error.TimedOut": "decides nothing",
  "org.freedesktop.DBus.Error.Disconnected": "decides nothing",
  "org.freedesktop.DBus.Error.LimitsExceeded": "decides nothing",
  "org.freedesktop.DBus.Error.NoMemory": "decides nothing",
  "org.freedesktop.systemd1.NoSuchUnit": "answers",
  "org.freedesktop.systemd1.OnlyByDependency": "answers",
  "org.freedesktop.systemd1.UnitMasked": "answers",
  "org.freedesktop.systemd1.ShuttingDown": "decides nothing",
  "org.freedesktop.systemd1.TransactionIsDestructive": "decides nothing",
  "org.freedesktop.systemd1.TransactionJobsConflicting": "decides nothing",
};

test("distinguishes definite errors from errors after which the same request might succeed", () => {
  for (const [type, is] of Object.entries(errors))
    assert.equal(isDefinite(new SystemdError(type, "")) ? "answers" : "decides nothing", is, type);
});
