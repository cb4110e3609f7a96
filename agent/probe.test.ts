import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import test from "node:test";
import { probeOn } from "./probe.ts";

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

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
