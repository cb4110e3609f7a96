import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import test from "node:test";
import { until } from "#test/cluster/await.ts";
import { freePort } from "#test/free-port.ts";
import { catalogue, statusOf } from "#contract/agent-codes.ts";
import { codes } from "../facts/problems.ts";
import { probeOn, type Readiness } from "./readiness.ts";

const untilListening = (port: number) =>
  until(`somebody listens on ${port}`, () => ask(port, "/"), { timeout: 10_000, every: 10 });

function readiness(): Readiness {
  return { ready: true, code: codes.inForce, line: "GPS200" };
}

const ask = async (port: number, path: string) =>
  (await fetch(`http://127.0.0.1:${port}${path}`)).status;

test("the answer is true of our template only", async () => {
  const port = await freePort();
  const probe = probeOn(port, "a1", readiness, () => {});
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

test("who is not ready answers with the status of its code, and no two codes share one", async () => {
  const port = await freePort();
  let now: Readiness = { ready: false, code: codes.restarting, line: "GPS213" };
  const probe = probeOn(
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

test("a port that is taken is said, tried again, and had when the other one ends", async (t) => {
  const port = await freePort();
  const other = createServer().listen(port, "127.0.0.1");
  await once(other, "listening");
  let changed = Promise.withResolvers<void>();
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const probe = probeOn(port, "a1", readiness, () => changed.resolve());
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

test("whoever connects and says nothing, or too much, is cut off and keeps nobody out", async () => {
  const port = await freePort();
  const probe = probeOn(port, "a1", readiness, () => {});
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
