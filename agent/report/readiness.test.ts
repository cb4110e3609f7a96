import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import test from "node:test";
import { until } from "#test/cluster/await.ts";
import { freePort } from "#test/free-port.ts";
import { catalogue, statusOf } from "#contract/agent-codes.ts";
import { codes, type Code, resync, type Step, wait } from "../facts/step.ts";
import { serveReadiness, type Readiness, ReadinessProof } from "./readiness.ts";
import type { Grant } from "#contract/grant.ts";

const untilListening = (port: number) =>
  until(`a server listens on ${port}`, () => ask(port, "/"), { timeout: 10_000, every: 10 });

function readiness(): Readiness {
  return { ready: true, code: codes.inForce, line: "GPS200" };
}

const ask = async (port: number, path: string) =>
  (await fetch(`http://127.0.0.1:${port}${path}`)).status;

test("answers only probes of our own template", async () => {
  const port = await freePort();
  const probe = serveReadiness(port, "a1", readiness, () => {});
  await untilListening(port);
  assert.deepEqual(
    [
      await ask(port, "/readyz"),
      await ask(port, "/readyz?template=a1"),
      await ask(port, "/readyz?template=b2"),
    ],
    [200, 200, 505],
  );
  assert.equal(await ask(port, "/metrics"), 404);
  probe.close();
});

test("answers with the status of its code when it is not ready, and uses a different status for each code", async () => {
  const port = await freePort();
  let now: Readiness = { ready: false, code: codes.restarting, line: "GPS213" };
  const probe = serveReadiness(
    port,
    "a1",
    () => now,
    () => {},
  );
  await untilListening(port);
  assert.equal(await ask(port, "/readyz"), 513);
  now = { ...now, code: codes.toBeReread };
  assert.equal(await ask(port, "/readyz"), 554);
  probe.close();
  const all = Object.values(catalogue).map(([code]) => statusOf(code));
  assert.equal(new Set(all).size, all.length);
  assert.ok(all.every((status) => status >= 500 && status <= 599));
});

test("reports a port that is taken, tries again, and listens when the other program has ended", async (t) => {
  const port = await freePort();
  const other = createServer().listen(port, "127.0.0.1");
  await once(other, "listening");
  let changed = Promise.withResolvers<void>();
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const probe = serveReadiness(port, "a1", readiness, () => changed.resolve());
  await changed.promise;
  assert.match(probe.taken() ?? "", new RegExp(`EADDRINUSE.*127\\.0\\.0\\.1:${port}`));
  changed = Promise.withResolvers<void>();
  await once(other.close(), "close");
  t.mock.timers.tick(1000);
  await changed.promise;
  t.mock.timers.reset();
  assert.equal(probe.taken(), undefined);
  assert.equal(await ask(port, "/readyz"), 200);
  probe.close();
});

test("disconnects clients that send nothing or too much, so that they block no other client", async () => {
  const port = await freePort();
  const probe = serveReadiness(port, "a1", readiness, () => {});
  await untilListening(port);
  const ends: Promise<unknown>[] = [];
  const silent = () => {
    const socket = connect(port, "127.0.0.1").resume();
    ends.push(once(socket, "close"));
    return once(socket, "connect");
  };
  for (let count = 0; count < 40; count++) await silent();
  assert.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200);
  await Promise.all(ends.slice(0, 24));
  const flood = connect(port, "127.0.0.1", () => flood.write("x".repeat(10_000))).on(
    "error",
    () => {},
  );
  await once(flood.resume(), "close");
  probe.close();
  await Promise.all(ends);
});

const since = "2026-11-26T18:25:07Z";
const grant: Grant = { revision: 7, digest: "d", since, word: false };
const ready: Step = { action: "nothing", code: "GPS200", ready: true, again: resync };

function place() {
  const clock = { now: Date.parse(since) + 5000 };
  const proof = new ReadinessProof(() => clock.now);
  const isReady = (currentGrant: Grant | "none" | "unread" = grant) =>
    proof.orWait(ready, currentGrant).ready;
  return { clock, proof, isReady };
}

test("is ready for a new grant only after the kubelet has seen it unready", () => {
  const { proof, isReady } = place();
  assert.equal(isReady(), false);
  proof.sawUnready();
  assert.equal(isReady(), true);
  assert.equal(isReady(), true);
  for (const next of [{ since: "2026-11-26T18:25:08Z" }, { revision: 0 }, { digest: "e" }]) {
    assert.equal(isReady({ ...grant, ...next }), false);
    proof.sawUnready();
    assert.equal(isReady({ ...grant, ...next }), true);
  }
});

test("is not ready before the clock shows a later second than `since`, even if the kubelet has seen the agent unready", () => {
  const { clock, proof, isReady } = place();
  clock.now = Date.parse(since) + 400;
  isReady();
  proof.sawUnready();
  assert.equal(isReady(), false);
  clock.now += 599;
  assert.equal(isReady(), false);
  clock.now += 1;
  assert.equal(isReady(), true);
});

test("after the clock was set back, is not ready in the last minute up to `since`", () => {
  const { clock, proof, isReady } = place();
  isReady();
  proof.sawUnready();
  const rows = [
    [-3600, true],
    [-60, true],
    [-59, false],
    [-1, false],
    [0, false],
    [1, true],
  ] as const;
  for (const [seconds, expected] of rows) {
    clock.now = Date.parse(since) + seconds * 1000;
    assert.equal(isReady(), expected, `${seconds} s`);
  }
});

test("waits only for a probe if `since` is not a valid time", () => {
  const { proof, isReady } = place();
  const odd = { ...grant, since: "soon" };
  assert.equal(isReady(odd), false);
  proof.sawUnready();
  assert.equal(isReady(odd), true);
});

test("does not count an unready answer if the kubelet process that got it has ended", () => {
  const ends: readonly Code[] = ["GPS212", "GPS213", "GPS214", "GPS217", "GPS221"];
  for (const code of ends) {
    const { proof, isReady } = place();
    isReady();
    proof.sawUnready();
    proof.orWait(wait(code, 100), grant);
    assert.equal(proof.sawUnready(), false, "the old kubelet might probe until the next round");
    proof.orWait(wait("GPS215", 100), grant);
    assert.equal(isReady(), false, code);
    assert.equal(proof.sawUnready(), true);
    proof.orWait(wait("GPS215", 100), grant);
    assert.equal(isReady(), true, "the probation follows the restart");
  }
});

test("is ready after the grant was revoked, even if the kubelet's healthz is off", () => {
  const { proof } = place();
  const silent: Step = { ...wait("GPS221", 1000), ready: true };
  const back = { ...grant, revision: 0 };
  assert.equal(proof.orWait(silent, back).code, "GPS258");
  assert.equal(proof.sawUnready(), true);
  assert.deepEqual(proof.orWait(silent, back), silent);
});

test("is ready without a probe if the node has no grant", () => {
  const { isReady } = place();
  for (const other of ["none", "unread"] as const) assert.equal(isReady(other), true);
});

test("still counts an earlier unready answer after the volume could not be read for a moment", () => {
  const { proof, isReady } = place();
  isReady();
  proof.sawUnready();
  assert.equal(isReady("unread"), true);
  assert.equal(isReady(), true);
});
