import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo, connect, type Socket } from "node:net";
import test, { type TestContext } from "node:test";
import { needsProc as skip } from "../files/needs.fixture.ts";
import { isServedBy, isServedByOwnUser } from "./peer.ts";

const ports = { client: 40_000, server: 10_248 };
const [client, server] = ["0100007F:9C40", "0100007F:2808"];
const mapped = (address: string) => `0000000000000000FFFF0000${address}`;
const row = (local: string, remote: string, uid = 0, inode = 7, state = "01") =>
  `   0: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000 ${uid} 0 ${inode} 1\n`;
const ours = row(client, server);

const rows: readonly (readonly [what: string, table: string, expected: boolean])[] = [
  ["root serves it", ours + row(server, client), true],
  ["root serves it at ::", ours + row(mapped(server), mapped(client)), true],
  ["another user serves it", ours + row(server, client, 65_534), false],
  ["no process has accepted it", ours + row(server, client, 0, 0), false],
  ["its server has closed it", ours + row(server, client, 0, 0, "04"), false],
  ["it waits for its end", ours + row(server, client, 0, 0, "06"), false],
  ["its client has closed it", ours + row(server, client, 0, 7, "08"), false],
  ["its server is in another network namespace", ours, false],
  ["only a listener is there", ours + row(server, "00000000:0000", 0, 7, "0A"), false],
  ["root serves another address", ours + row("0200007F:2808", client), false],
  [
    "another user has connected root's server from the same port of another address",
    row(client, "0200007F:2808") +
      row("0200007F:2808", client, 65_534) +
      row("0300007F:9C40", server, 65_534) +
      row(server, "0300007F:9C40"),
    false,
  ],
  ...[
    [row("0100007F:9C41", server), row(server, "0100007F:9C41")],
    [row(client, "0100007F:2809"), row("0100007F:2809", client)],
  ].flatMap(([end = "", otherEnd = ""]) => [
    [
      "another user's end, and one of root's with one of the ports",
      row(client, server, 65_534) + row(server, client) + end,
      false,
    ] as const,
    [
      "another user serves it, and root a connection with one of the ports",
      ours + row(server, client, 65_534) + otherEnd,
      false,
    ] as const,
  ]),
  ["the table is empty", "", false],
];
for (const [what, table, expected] of rows)
  test(`${expected ? "believes" : "does not believe"} the answer of a connection if ${what}`, () =>
    assert.equal(isServedBy(0, table, ports), expected));

/** An open connection, of which the server has accepted its end. */
async function open(t: TestContext, host: string) {
  const accepted = Promise.withResolvers<Socket>();
  const listening = createServer((socket) => accepted.resolve(socket)).listen(0, host);
  t.after(() => listening.close());
  await once(listening, "listening");
  const { port } = listening.address() as AddressInfo;
  const socket = connect(port, "127.0.0.1");
  t.after(() => socket.destroy());
  const end = await accepted.promise;
  t.after(() => end.destroy());
  return { end, ports: { client: socket.localPort ?? 0, server: port } };
}

for (const host of ["127.0.0.1", "::"])
  test(`finds the server of a real connection at ${host}`, { skip }, async (t) => {
    const { end, ports: own } = await open(t, host);
    assert.equal(isServedByOwnUser(own), true);
    const other = t.mock.method(process as Required<typeof process>, "getuid", () => 123_456);
    assert.equal(isServedByOwnUser(own), false);
    other.mock.restore();
    end.destroy();
    await once(end, "close");
    assert.equal(isServedByOwnUser(own), false);
  });
