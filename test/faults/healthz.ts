/** A kubelet's healthz for tests that start the agent before a scripted systemd runs. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export async function startHealthz(): Promise<AsyncDisposable & Readonly<{ port: number }>> {
  const server = createServer((_request, response) => response.writeHead(200).end("ok"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
