import assert from "node:assert/strict";
import { once } from "node:events";
import { BoundSocket, connect, createServer } from "node:net";
import test from "node:test";
import { freePort } from "../test/free-port.ts";
import { probeOn } from "./probe.ts";

function readiness() {
  return { ready: true, line: "GPS200" };
}

test("only one agent of a node has the port, and the next one gets it when that one has ended", async () => {
  const port = await freePort();
  const [first, second] = [probeOn(port, 1, readiness), probeOn(port, 2, readiness)];
  assert.equal(await first.acquire(), true);
  assert.equal(await first.acquire(), true);
  assert.equal(await second.acquire(), false);
  assert.equal(await second.acquire(), false);
  const ask = async (query: string) => (await fetch(`http://127.0.0.1:${port}/readyz${query}`)).status;
  assert.deepEqual([await ask(""), await ask("?revision=1"), await ask("?revision=2")], [200, 200, 503]);
  first.close();
  assert.equal(await second.acquire(), true);
  assert.deepEqual([await ask("?revision=1"), await ask("?revision=2")], [503, 200]);
  assert.equal((await fetch(`http://127.0.0.1:${port}/metrics`)).status, 404);
  second.close();
});

test("only who names our revision, as the kubelet does, has asked", async () => {
  const port = await freePort();
  const probe = probeOn(port, 1, readiness);
  await probe.acquire();
  const askedBy = async (path: string) => {
    await fetch(`http://127.0.0.1:${port}${path}`);
    return [probe.asked(), probe.asked()];
  };
  assert.deepEqual(await askedBy("/readyz?revision=1"), [true, false]);
  for (const path of ["/readyz", "/readyz?revision=2", "/metrics"])
    assert.deepEqual(await askedBy(path), [false, false], path);
  probe.close();
});

test("of two that are bound to the port at once only one can listen", async () => {
  const port = await freePort();
  const other = new BoundSocket({ host: "127.0.0.1", port });
  const probe = probeOn(port, 1, readiness);
  assert.equal(await probe.acquire(), true);
  const [error] = (await once(createServer().listen(other), "error")) as [NodeJS.ErrnoException];
  assert.equal(error.code, "EADDRINUSE");
  probe.close();
});

test("whoever connects and says nothing, or too much, is cut off and keeps nobody out", async () => {
  const port = await freePort();
  const probe = probeOn(port, 1, readiness);
  await probe.acquire();
  const ends: Promise<unknown>[] = [];
  const silent = () => {
    const socket = connect(port, "127.0.0.1").resume();
    ends.push(once(socket, "close"));
    return once(socket, "connect");
  };
  for (let count = 0; count < 40; count++) await silent();
  assert.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200);
  await Promise.all(ends.slice(0, 24));
  const flood = connect(port, "127.0.0.1", () => flood.write("x".repeat(10_000))).on("error", () => {});
  await once(flood.resume(), "close");
  probe.close();
  await Promise.all(ends);
});
