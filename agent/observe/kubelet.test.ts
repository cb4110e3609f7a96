import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
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
  assert.deepEqual(answers, [true, true, false, false]);
});
