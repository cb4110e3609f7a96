import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import test from "node:test";
import { needsProc as skip } from "../files/needs.fixture.ts";
import { listenerAt, listenersIn } from "./listener.ts";

const head =
  "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
const row = (address: string, state: string, uid: number) =>
  `   0: ${address} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000 ${uid} 0 1 1 0\n`;

test("finds the users of all listeners at the port, whatever their address", () => {
  const table = [
    head,
    row("0100007F:2808", "0A", 0),
    row("00000000000000000000000001000000:2808", "0A", 65_534),
    row("0100007F:2809", "0A", 7),
    row("0100007F:2808", "01", 8),
  ].join("");
  assert.deepEqual(listenersIn(table, 10_248), [0, 65_534]);
  assert.deepEqual(listenersIn("", 10_248), []);
});

test("distinguishes its user's listener, another user's, and a free port", { skip }, async (t) => {
  const server = createServer().listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  assert.equal(listenerAt(port), "own");
  const other = t.mock.method(process as Required<typeof process>, "getuid", () => 123_456);
  assert.equal(listenerAt(port), "foreign");
  other.mock.restore();
  server.close();
  await once(server, "close");
  assert.equal(listenerAt(port), "nobody");
});
