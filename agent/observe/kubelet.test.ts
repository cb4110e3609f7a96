import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createNetServer } from "node:net";
import test from "node:test";
import { askHealthz } from "./kubelet.ts";

test("asks 127.0.0.1, then ::1, or the given address", async (t) => {
  const statuses = { now: 200 };
  const server = createServer((_request, response) => response.writeHead(statuses.now).end("ok"));
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
