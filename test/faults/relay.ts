/**
 * A relay between the agent and systemd. It hangs up or falls silent after a number of the agent's
 * messages, or changes the bytes of systemd's answers.
 */
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";

export type Cut = "hangs up" | "falls silent";

export class Relay implements AsyncDisposable {
  /**
   * After this number of the agent's messages, counted over all connections, the relay cuts the
   * connection. The relay forwards the last of these messages, but not the answer to it. Later
   * connections are not cut. dbus-next writes each message separately. The first message of a
   * connection is the authentication.
   */
  cutAfter = Number.POSITIVE_INFINITY;
  passed = 0;
  connections = 0;
  /** Transforms the bytes that systemd sends. */
  spoil: (data: Buffer) => Buffer = (data) => data;
  readonly #cut: Cut;
  readonly #systemd: string;
  readonly #server = createServer((agent) => this.#pass(agent));
  readonly #sockets = new Set<Socket>();

  private constructor(systemd: string, cut: Cut) {
    this.#systemd = systemd;
    this.#cut = cut;
  }

  /** Listens on the socket in `directory`, and forwards to the socket in `behind`. */
  static async between(directory: string, behind: string, cut: Cut): Promise<Relay> {
    const relay = new Relay(join(behind, "private"), cut);
    mkdirSync(directory, { recursive: true });
    relay.#server.listen(join(directory, "private"));
    await once(relay.#server, "listening");
    return relay;
  }

  #pass(agent: Socket): void {
    this.connections += 1;
    const systemd = connect(this.#systemd);
    for (const [socket, other] of [
      [agent, systemd],
      [systemd, agent],
    ] as const) {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#sockets.delete(socket);
        other.end();
      });
    }
    let silent = false;
    systemd.on("data", (data) => void (silent || agent.write(this.spoil(data))));
    agent.on("data", (data) => {
      systemd.write(data);
      this.passed += 1;
      if (this.passed !== this.cutAfter) return;
      silent = true;
      if (this.#cut === "hangs up") agent.destroy();
    });
  }

  hangUp(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.hangUp();
    await once(this.#server, "close");
  }
}
