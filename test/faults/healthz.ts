/** A kubelet's healthz for tests that start the agent before a scripted systemd runs. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";

export async function startHealthz(): Promise<AsyncDisposable & Readonly<{ port: number }>> {
  // Reads each request, because an unread request would keep its connection, and therefore the
  // server, open.
  const answer = (socket: Socket) =>
    void socket
      .on("error", () => {})
      .resume()
      .end("HTTP/1.1 200 OK\r\n\r\n");
  const server = createServer(answer);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, "close");
    },
  };
}
