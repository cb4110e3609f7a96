import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import test from "node:test";
import { askHealthz } from "./kubelet.ts";
import type { Listener } from "./listener.ts";

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
  assert.deepEqual(answers, ["answers", "answers", "silent", "silent"]);
});

test("believes no answer while a process of another user listens, before or after the answer", async () => {
  const server = createServer((_request, response) => response.writeHead(200).end("ok"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const asked = async (...listeners: readonly Listener[]) => {
    const remaining = [...listeners];
    return askHealthz(port, "auto", () => remaining.shift() ?? assert.fail("asked too often"));
  };
  assert.equal(await asked("foreign"), "foreign");
  assert.equal(await asked("nobody"), "nobody");
  assert.equal(await asked("own", "foreign"), "foreign");
  assert.equal(await asked("own", "own"), "answers");
  server.close();
});
