/**
 * The agent's connection to systemd, and to peers that do not behave like systemd. Within a bounded
 * time and without leaking a descriptor, the connection must report whether a request was never
 * sent ("could not ask") or was sent and had a result.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { temporary } from "#test/temporary.ts";
import fc from "fast-check";
import { askUnit } from "#agent/observe/kubelet.ts";
import { SystemdError, NoAnswer, NoSystemd, Stopped } from "#agent/systemd/connection.ts";
import { systemdOver } from "#agent/systemd/systemd.ts";
import { inTime } from "../harness/agent/agent.ts";
import { AgentPlace } from "./place.ts";
import { Relay } from "./relay.ts";
import {
  comesBack,
  crashes,
  jobResults,
  questioned,
  type ScriptedRestart,
  ScriptedSystemd,
} from "../harness/agent/scripted-systemd.ts";

/** These deadlines are longer than any answer takes, even on a busy machine. */
const longDeadlines = { question: 60_000, job: 60_000 };
/** Deadlines for peers that never answer. */
const shortDeadlines = { question: 400, job: 400 };
const never = new AbortController().signal;
const recorded = () => Promise.resolve();

function place(t: TestContext): string {
  const root = temporary(t);
  return root;
}

function open(directory: string, { stop = never, deadlines = longDeadlines } = {}) {
  const systemd = systemdOver(directory, stop, deadlines);
  return {
    ...systemd,
    unit: () => systemd.unit(kubelet),
    restart: (recording: () => Promise<void>) => systemd.restart(kubelet, recording),
  };
}

const kubelet = "kubelet.service";

/**
 * Stops the clock of all deadlines until systemd receives the call `member`. Then all deadlines
 * expire.
 */
function expireDeadlinesAt(t: TestContext, systemd: ScriptedSystemd, member: string): void {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const over = () => t.mock.timers.tick(longDeadlines.job);
  systemd.onCall = (call) => void (call === member && setImmediate(over));
}

/** A server in systemd's place. */
async function fakeServer(
  directory: string,
  talk: (socket: Socket) => void,
): Promise<AsyncDisposable> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    talk(socket);
  }).listen(join(directory, "private"));
  await once(server, "listening");
  return {
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, "close");
    },
  };
}

test("returns the unit's state as systemd reports it", async (t) => {
  const root = place(t);
  await using systemd = await ScriptedSystemd.start(root);
  const unit = await open(root).unit();
  assert.deepEqual(unit, {
    name: kubelet,
    load: "loaded",
    active: "active",
    sub: "running",
    invocation: systemd.invocation.toString("hex"),
    busy: false,
    mainPid: 1000,
    restarts: 0,
    result: "success",
    startLimit: 0,
    started: 1000,
    refuses: false,
  });
});

test("returns the result of the job that it has requested, for any result and any order of systemd's messages", async (t) => {
  const root = place(t);
  await using systemd = await ScriptedSystemd.start(root);
  const scripts: readonly ScriptedRestart[] = [
    comesBack,
    { ...comesBack, signalFirst: true },
    { ...comesBack, takes: 300 },
    crashes,
    ...jobResults.map((job) => ({ job, after: "failed" }) as const),
  ];
  for (const script of scripts) {
    systemd.script = [script];
    assert.deepEqual(
      await open(root).restart(recorded),
      { result: script.job },
      JSON.stringify(script),
    );
  }
  assert.ok(!systemd.calls.includes("CancelJob"));
});

test("requests a restart only after it has recorded the restart", async (t) => {
  const root = place(t);
  await using systemd = await ScriptedSystemd.start(root);
  const asked = () => systemd.restartCalls;
  let before = -1;
  await open(root).restart(async () => void (before = asked()));
  assert.deepEqual([before, asked()], [0, 1]);
  const full = new Error("disk full");
  assert.deepEqual(await open(root).restart(() => Promise.reject(full)), {
    refused: full,
  });
  assert.equal(asked(), 1);
  systemd.die();
  before = -1;
  assert.ok("refused" in (await open(root).restart(async () => void (before = asked()))));
  assert.equal(before, -1, "recorded, although systemd is not there");
});

test("uses one connection for several questions, and opens a new connection after the old one has died", async (t) => {
  const root = place(t);
  await using _systemd = await ScriptedSystemd.start(join(root, "behind"));
  await using relay = await Relay.between(root, join(root, "behind"), "hangs up");
  const descriptors = () => readdirSync("/proc/self/fd").length;
  const before = descriptors();
  const systemd = open(root);
  await systemd.states([kubelet]);
  await systemd.unit();
  assert.deepEqual(await systemd.restart(recorded), { result: "done" });
  assert.equal(relay.connections, 1);
  assert.deepEqual(
    await systemd.restart(recorded),
    { result: "done" },
    "a connection keeps the signals of one job",
  );
  await systemd.unit();
  assert.equal(relay.connections, 3);
  systemd.disconnect();
  await systemd.unit();
  assert.equal(relay.connections, 4);
  relay.hangUp();
  assert.ok(await inTime(() => descriptors() <= before));
  await systemd.unit();
  assert.equal(relay.connections, 5);
});

for (const cut of ["hangs up", "falls silent"] as const)
  test(`when systemd ${cut}, reports a restart as requested if its request has arrived`, async () => {
    await using place = await AgentPlace.make(cut);
    const { node, systemd, relay } = place;
    assert.ok(relay !== undefined);
    // If systemd falls silent, each call lasts until the deadline, so this deadline is short. But
    // an answered call takes far less time, even on a busy machine.
    const deadline = cut === "falls silent" ? 3000 : 60_000;
    const agent = open(node.systemd, { deadlines: { question: deadline, job: deadline } });
    /**
     * Calls `ask` again and again, and cuts the connection after the first message, then after the
     * second message, and so on. Returns the answers.
     */
    const cutEverywhere = async (ask: () => Promise<unknown>) => {
      const answers: unknown[] = [];
      for (;;) {
        relay.cutAfter = relay.passed + answers.length + 1;
        const answer = await ask();
        if (relay.passed < relay.cutAfter) return { answers, whole: answer };
        answers.push(answer);
      }
    };
    const isRefused = (answer: unknown) => answer instanceof NoAnswer;
    const restarts = await cutEverywhere(async () => {
      const calls = systemd.restartCalls;
      const answer = await agent.restart(recorded);
      if ("refused" in answer) return systemd.restartCalls === calls && answer.refused;
      // systemd must get the request, even if the client got no answer.
      assert.ok(await inTime(() => systemd.restartCalls > calls));
      return answer.result;
    });
    // The client sends three messages: AUTH with BEGIN, Hello, and RestartUnit.
    assert.equal(restarts.answers.length, 3, String(restarts.answers));
    assert.equal(restarts.answers.pop(), "unknown");
    assert.ok(restarts.answers.every(isRefused), String(restarts.answers));
    assert.equal(restarts.whole, "done");
    const rounds = await cutEverywhere(() => agent.unit().catch((error: unknown) => error));
    // Asks once more if the connection was lost, but not if systemd is silent.
    const isRight = (answer: unknown) =>
      cut === "falls silent" ? isRefused(answer) : !(answer instanceof Error);
    assert.ok(rounds.answers.length > 0 && rounds.answers.every(isRight), String(rounds.answers));
    assert.ok(!(rounds.whole instanceof Error), String(rounds.whole));
    assert.ok(!systemd.calls.includes("CancelJob"));
  });

test("distinguishes a request that systemd refuses from a job whose end systemd does not report", async (t) => {
  const root = place(t);
  await using systemd = await ScriptedSystemd.start(root);
  for (const name of ["AccessDenied", "InteractiveAuthorizationRequired"]) {
    systemd.script = [{ after: "unchanged", error: `org.freedesktop.DBus.Error.${name}` }];
    const answer = await open(root).restart(recorded);
    assert.ok(
      "refused" in answer &&
        answer.refused instanceof SystemdError &&
        answer.refused.type.endsWith(name),
    );
  }
  systemd.script = [{ after: "unchanged" }];
  expireDeadlinesAt(t, systemd, "RestartUnit");
  assert.deepEqual(await open(root).restart(recorded), { result: "unknown" });
  t.mock.timers.reset();
  systemd.script = [comesBack];
  systemd.onCall = (member) => void (member === "RestartUnit" && systemd.die());
  assert.deepEqual(await open(root).restart(recorded), { result: "unknown" });
});

test("ends a call at the deadline if systemd does not answer", async (t) => {
  const root = place(t);
  await using systemd = await ScriptedSystemd.start(root);
  systemd.silent.add("RestartUnit");
  expireDeadlinesAt(t, systemd, "RestartUnit");
  assert.deepEqual(await open(root).restart(recorded), { result: "unknown" });
  t.mock.timers.reset();
  systemd.silent.add("Get");
  expireDeadlinesAt(t, systemd, questioned);
  await assert.rejects(open(root).unit(), NoAnswer);
});

test("reads the unit's state again if the state changes while it is being read", async (t) => {
  const root = place(t);
  await using systemd = await ScriptedSystemd.start(root);
  const restarted = { active: "active", sub: "running", mainPid: systemd.mainPid + 1 };
  const first = await open(root).unit();
  const gets = () => systemd.calls.filter((call) => call.startsWith("Get ")).length;
  const each = gets();
  for (let nth = 2; nth <= each; nth += 1) {
    const before = gets();
    systemd.invocation = Buffer.from(first.invocation, "hex");
    [systemd.mainPid, systemd.active, systemd.sub] = [first.mainPid, "inactive", "dead"];
    systemd.onCall = () => gets() === before + nth && systemd.started();
    const { active, sub, mainPid, invocation } = await open(root).unit();
    assert.deepEqual({ active, sub, mainPid }, restarted, `changed before Get ${nth}`);
    assert.notEqual(invocation, first.invocation);
    assert.equal(gets() - before, 2 * each);
  }
});

test("if there is no socket, no systemd or no reply, reports that it could not ask", async (t) => {
  const root = place(t);
  await assert.rejects(open(root).unit(), /ENOENT/);
  await assert.rejects(open(root).unit(), NoSystemd);
  const socket = join(root, "private");
  writeFileSync(socket, "");
  await assert.rejects(open(root).unit(), /ENOTSOCK|ECONNREFUSED/);
  rmSync(socket);
  await using systemd = await ScriptedSystemd.start(root);
  systemd.freeze(true);
  await assert.rejects(open(root, { deadlines: shortDeadlines }).unit(), /no answer within 0.4 s/);
  systemd.freeze(false);
  systemd.die();
  await assert.rejects(open(root).unit(), /ECONNREFUSED/);
});

test("when a peer hangs up, is silent or sends nonsense at any point, reports that it could not ask", async (t) => {
  const talks: readonly ((socket: Socket) => void)[] = [
    (socket) => socket.destroy(),
    () => {},
    (socket) => void socket.once("data", () => socket.end()),
    (socket) => void socket.once("data", () => socket.write("REJECTED\r\n")),
    (socket) =>
      void socket.once("data", () => socket.write("REJECTED EXTERNAL DBUS_COOKIE_SHA1\r\n")),
    (socket) => void socket.once("data", () => socket.write("\r\n")),
    (socket) => void socket.once("data", () => socket.end("OK 1234\r\n")),
    (socket) => void socket.once("data", () => socket.write("OK 1234\r\n")),
    (socket) =>
      void socket.once("data", () => socket.write(`OK 1234\r\n${"nonsense".repeat(1000)}`)),
  ];
  for (const [index, talk] of talks.entries()) {
    const root = place(t);
    await using _peer = await fakeServer(root, talk);
    const asked = open(root, { deadlines: shortDeadlines }).unit();
    await assert.rejects(asked, NoAnswer, String(index));
  }
});

test("neither crashes nor leaks a descriptor when replies are random", async (t) => {
  const root = place(t);
  let reply: Uint8Array = new Uint8Array();
  await using _peer = await fakeServer(root, (socket) => {
    socket.once("data", () => {
      socket.write("OK 1234\r\n");
      socket.once("data", () => socket.end(reply));
    });
  });
  const message = fc
    .tuple(
      fc.uint8Array({ minLength: 12, maxLength: 12 }),
      fc.integer({ min: 0, max: 60 }),
      fc.uint8Array({ maxLength: 120 }),
    )
    .map(([head, fields, rest]) => {
      const header = Buffer.concat([
        Buffer.from([0x6c, 1 + ((head[1] ?? 0) % 4), 0, 1]),
        head.subarray(4),
        Buffer.from([fields, 0, 0, 0]),
      ]);
      return Buffer.concat([header, rest]);
    });
  const before = readdirSync("/proc/self/fd").length;
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.uint8Array({ maxLength: 100 }), message), async (bytes) => {
      reply = bytes;
      await assert.rejects(open(root, { deadlines: shortDeadlines }).unit());
    }),
    { numRuns: 200 },
  );
  assert.ok(readdirSync("/proc/self/fd").length <= before + 2);
});

test("ends the wait for a job at once when the agent is stopped", async (t) => {
  const root = place(t);
  await using systemd = await ScriptedSystemd.start(root);
  systemd.script = [{ after: "unchanged" }];
  const stop = new AbortController();
  // The clock stands still, so no deadline expires, and only the stop can end the wait.
  t.mock.timers.enable({ apis: ["setTimeout"] });
  systemd.onCall = (member) => void (member === "RestartUnit" && setImmediate(() => stop.abort()));
  const stopped = open(root, { stop: stop.signal });
  assert.deepEqual(await stopped.restart(recorded), { result: "unknown" });
});

test("turns no question that the agent's stop has ended into a fact", async (t) => {
  const root = place(t);
  await using fake = await ScriptedSystemd.start(root);
  const stop = new AbortController();
  const systemd = systemdOver(root, stop.signal, longDeadlines);
  fake.onCall = (member) => void (member === questioned && stop.abort());
  const config = { unit: kubelet, restart: "Always" } as const;
  await assert.rejects(askUnit({ systemd, config }, { kind: "none" }), Stopped);
});
