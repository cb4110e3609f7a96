/** A node without a D-Bus daemon, such as kind's: systemd is asked over its own socket. */
import assert from "node:assert/strict";
import test from "node:test";
import { NodeDirectory } from "#test/harness/agent/node-directory.ts";
import { ScriptedSystemd } from "#test/harness/agent/scripted-systemd.ts";
import { NoSystemd } from "./bus.ts";
import { systemdOver } from "./systemd.ts";

const over = ({ dbus, systemd }: NodeDirectory) =>
  systemdOver({ dbusDirectory: dbus, systemdDirectory: systemd }, new AbortController().signal);

test("asks and restarts over systemd's own socket where there is no bus", async () => {
  using node = new NodeDirectory();
  await using fake = await ScriptedSystemd.startDirectly(node.systemd, "private");
  const systemd = over(node);
  const before = await systemd.unit(fake.unit);
  assert.equal(before.active, "active");
  const restarted = await systemd.restart(fake.unit, () => Promise.resolve());
  assert.deepEqual(restarted, { result: "done" });
  assert.notEqual((await systemd.unit(fake.unit)).invocation, before.invocation);
  assert.ok(fake.calls.includes("Subscribe"));
  fake.script = [{ after: "unchanged", error: "org.freedesktop.DBus.Error.AccessDenied" }];
  const refused = await systemd.restart(fake.unit, () => Promise.resolve());
  assert.match("refused" in refused ? refused.refused.message : "", /AccessDenied/);
  systemd.hangUp();
});

test("prefers the bus, and reports a node that has neither socket", async () => {
  using node = new NodeDirectory();
  await assert.rejects(over(node).unit("kubelet.service"), NoSystemd);
  await using own = await ScriptedSystemd.startDirectly(node.systemd, "private");
  await using bus = await ScriptedSystemd.startDirectly(node.dbus);
  const systemd = over(node);
  await systemd.unit(bus.unit);
  systemd.hangUp();
  assert.deepEqual([own.calls.length > 0, bus.calls.length > 0], [false, true]);
});
