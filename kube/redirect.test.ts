import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { KubeConfig } from "@kubernetes/client-node";
import { connect } from "./client.ts";

async function listening(answer: RequestListener) {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const end = () => (server.closeAllConnections(), server.close());
  return { url, [Symbol.dispose]: end };
}

test("an API server cannot send us on to another server, and nothing of ours gets there", async () => {
  const asked: string[] = [];
  using inner = await listening((request, response) => {
    asked.push(request.url ?? "");
    response.end("{}");
  });
  using outer = await listening((request, response) => {
    const here = request.url === "/within" ? "/within/2" : `${inner.url}/inner`;
    if (request.url === "/within/2") return void response.end('{"found":true}');
    response.writeHead(307, { location: here }).end();
  });
  const config = new KubeConfig();
  // Only then does the client speak http.
  const cluster = { name: "outer", server: outer.url, skipTLSVerify: true };
  config.loadFromClusterAndUser(cluster, { name: "user", token: "planted" });
  const api = connect(config, () => {});
  const body = { data: "planted" };
  const refused = /^Error: \S+ \/away: no answer Unreachable: redirected to another server$/;
  await assert.rejects(api.get("/away"), refused);
  await assert.rejects(api.apply("/away", body, { manager: "m", force: true }), refused);
  assert.deepEqual(asked, []);
  assert.deepEqual(await api.get("/within"), { found: true });
});
