import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createNetServer } from "node:net";
import test from "node:test";
import { idle, restarting, reviving, unit } from "../facts/facts.fixture.ts";
import type { Journal } from "../journal/journal.ts";
import { NoAnswer, NoSystemd, Stopped, SystemdError } from "../systemd/connection.ts";
import type { Systemd } from "../systemd/systemd.ts";
import { askHealthz, askUnit } from "./kubelet.ts";

test("asks 127.0.0.1, then ::1, or the given address", async (t) => {
  const statuses = { now: 200 };
  const server = createServer(({ url }, response) =>
    response.writeHead(url === "/healthz" ? statuses.now : 404).end("ok"),
  );
  server.listen(0, "::1");
  const opened = await Promise.race([once(server, "listening"), once(server, "error")]);
  if (opened.length > 0) return t.skip("needs IPv6 on the loopback");
  const { port } = server.address() as AddressInfo;
  const answers = [await askHealthz(port), await askHealthz(port, "::1")];
  answers.push(await askHealthz(port, "127.0.0.1"));
  statuses.now = 500;
  answers.push(await askHealthz(port));
  server.close();
  assert.deepEqual(answers, ["answers", "answers", "nobody", "silent"]);
});

test("believes neither an answer nor silence of a process of another user", async (t) => {
  const server = createServer((_request, response) => response.writeHead(200).end("ok"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  assert.equal(await askHealthz(port), "answers");
  assert.equal(await askHealthz(port, "127.0.0.1", () => false), "foreign");
  t.mock.timers.enable({ apis: ["setTimeout"] });
  server.close();
  server.closeAllConnections();
  await once(server, "close");
  assert.equal(await askHealthz(port), "nobody");
});

for (const isServed of [true, false])
  test(`counts ${isServed ? "root's process" : "another user's process"} that accepts and does not answer as ${isServed ? "silent" : "foreign"}`, async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const server = createNetServer((socket) => socket.once("data", () => t.mock.timers.tick(2000)));
    server.listen(0, "127.0.0.1");
    t.after(() => server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const asked = await askHealthz(port, "127.0.0.1", () => isServed);
    assert.equal(asked, isServed ? "silent" : "foreign");
  });

/** Asks a systemd in which only k3s.service is active, or in which one call fails. */
function askedUnit(
  flag: string,
  journal: Journal,
  failure?: Error,
  {
    failing = "states",
    restart = "Always",
  }: { failing?: string; restart?: "Always" | "Never" } = {},
) {
  const answer = <T>(call: string, value: T) =>
    failure && call === failing ? Promise.reject(failure) : Promise.resolve(value);
  const stateOf = (name: string) => ({
    name,
    active: name === "k3s.service" ? "active" : "failed",
  });
  const systemd = {
    unit: (name: string) => answer("unit", { ...unit, name }),
    states: (names: readonly string[]) => answer("states", names.map(stateOf)),
  } as unknown as Systemd;
  const config = { unit: flag, restart } as const;
  return askUnit({ systemd, config }, { kind: "journal", journal });
}

for (const [what, flag, journal, name] of [
  ["of the change under way", "flag.service", restarting, "kubelet.service"],
  ["of the change that goes back", "flag.service", reviving, "kubelet.service"],
  ["that a flag names", "flag.service", idle, "flag.service"],
  ["that is active", "auto", idle, "k3s.service"],
] as const)
  test(`asks systemd about the unit ${what}`, async () =>
    assert.deepEqual(await askedUnit(flag, journal), { ...unit, name }));

/** Flag → the call that fails. */
const failures = [
  ["auto", "states"],
  ["auto", "unit"],
  ["flag.service", "unit"],
] as const;
const error = (name: string) => new SystemdError(`org.freedesktop.DBus.Error.${name}`, "x");
for (const [what, failure, absent, outdated] of [
  ["does not answer", new NoAnswer("x"), false, false],
  ["does not exist", new NoSystemd("x"), true, false],
  ["is too old", error("UnknownProperty"), false, true],
  ["refuses", error("AccessDenied"), false, false],
] as const)
  test(`reports that systemd ${what}`, async () => {
    const { message: unknown } = failure;
    for (const [flag, failing] of failures)
      assert.deepEqual(
        await askedUnit(flag, idle, failure, { failing }),
        { unknown, absent, outdated },
        `${flag}: ${failing}`,
      );
  });

test("asks systemd nothing if no restart is allowed, and reports nothing while the agent is stopped", async () => {
  const stopped = new Stopped();
  assert.deepEqual(await askedUnit("auto", idle, stopped, { restart: "Never" }), {
    notAsked: true,
  });
  for (const [flag, failing] of failures)
    await assert.rejects(askedUnit(flag, idle, stopped, { failing }), stopped);
});
