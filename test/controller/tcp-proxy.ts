/** A proxy between the controller and the API server. The test opens and closes it. */
import { connect, createServer, type Server, type Socket } from "node:net";
import { once } from "node:events";

export class TcpProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #open = true;
  /** The number of connection attempts, accepted or not. */
  tried = 0;
  /** Milliseconds that a new connection waits until the proxy accepts it. */
  late = 0;
  readonly port: number;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  static async before(url: string): Promise<TcpProxy> {
    const { hostname, port } = new URL(url);
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const proxy = new TcpProxy(server, typeof address === "object" ? (address?.port ?? 0) : 0);
    server.on("connection", (near) => {
      near.on("error", () => {}); // a close event follows every error
      setTimeout(() => proxy.#pass(near, hostname, Number(port || 443)), proxy.late);
    });
    return proxy;
  }

  /** Cuts open connections. New connections are cut at once. */
  shut(): void {
    this.#open = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** From now on the open connections stay open but transfer nothing. New connections work. */
  freeze(): void {
    for (const socket of this.#sockets) socket.unpipe().pause();
  }

  open(): void {
    this.#open = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.shut();
    this.#server.close();
    await once(this.#server, "close");
  }

  #pass(near: Socket, host: string, port: number): void {
    this.tried += 1;
    if (!this.#open) return void near.destroy();
    const far = connect(port, host);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from);
      from.on("error", () => {}); // a close event follows every error
      from.on("close", () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  }
}
