/** Requests to systemd over its own socket, and which of its errors are definite. */
import assert from "node:assert/strict";
import test from "node:test";
import { NodeDirectory } from "#test/harness/agent/node-directory.ts";
import { comesBack, ScriptedSystemd } from "#test/harness/agent/scripted-systemd.ts";
import { SystemdError, isDefinite, NoSystemd } from "./connection.ts";
import { systemdOver } from "./systemd.ts";

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

test("reports whether the unit refuses to be started or stopped by hand", async () => {
  using node = new NodeDirectory();
  await using fake = await ScriptedSystemd.start(node.systemd);
  const systemd = over(node);
  for (const [canStart, canStop] of [
    [true, true],
    [false, true],
    [true, false],
  ] as const) {
    Object.assign(fake, { canStart, canStop });
    assert.equal((await systemd.unit(fake.unit)).refuses, !canStart || !canStop);
  }
  systemd.disconnect();
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
