/**
 * A fake of systemd's own socket (`private` in /run/systemd), served by the test's own process.
 * dbus-next composes and parses the messages, as in the agent.
 *
 * Like systemd on that socket, the fake has the handshake (EXTERNAL), but no Hello and no names,
 * and sends signals to every connection. The cluster tests use the real socket.
 */
import { once } from "node:events";
import { mkdirSync, renameSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { Message, MessageType } from "dbus-next";

/** A scripted program's connections to its clients. */
export type Wire = Readonly<{
  /** Sends a reply to a client's message, or a signal. Never throws. */
  send(message: Message): void;
  /** If true, the program stops reading, like a stopped process. */
  freeze(isFrozen: boolean): void;
  /** Ends all connections, and leaves a socket on which no program listens. */
  die(): void;
  close(): void;
}>;

/** Parts that dbus-next does not export. */
const internals = createRequire(import.meta.url);
const { unmarshalMessages } = internals("dbus-next/lib/message.js") as Readonly<{
  unmarshalMessages: (stream: Socket, onMessage: (raw: object) => void, options: object) => void;
}>;
const { marshallMessage, messageToJsFmt } = internals(
  "dbus-next/lib/marshall-compat.js",
) as Readonly<{
  marshallMessage: (message: object) => [bytes: Buffer, descriptors: unknown[]];
  messageToJsFmt: (raw: object) => ConstructorParameters<typeof Message>[0];
}>;

const theBus = "org.freedesktop.DBus";

/** Serves a scripted program at `private` in `directory`. `answer` receives each client's call. */
export async function servePrivately(
  directory: string,
  answer: (call: Message) => void,
): Promise<Wire> {
  mkdirSync(directory, { recursive: true });
  const path = join(directory, "private");
  const connections = new Map<string, Connection>();
  let names = 0;
  let isFrozen = false;
  const server = createServer((socket) => {
    if (isFrozen) return void socket.on("error", () => {});
    const name = `:1.${++names}`;
    connections.set(name, new Connection(socket, name, answer));
    socket.on("close", () => connections.delete(name));
  });
  server.listen(path);
  await once(server, "listening");
  const end = () => {
    server.close();
    for (const { socket } of connections.values()) socket.destroy();
  };
  return {
    send: (message) => {
      if (message.type !== MessageType.SIGNAL) connections.get(message.destination)?.send(message);
      else for (const connection of connections.values()) connection.send(message);
    },
    freeze: (is) => (isFrozen = is),
    die: () => {
      if (!server.listening) return;
      // Moves the socket away and back, because Node removes the file at the server's path on
      // close.
      renameSync(path, `${path}.dead`);
      end();
      renameSync(`${path}.dead`, path);
    },
    close: end,
  };
}

/** One client, from its handshake to its end. */
class Connection {
  readonly socket: Socket;
  readonly #name: string;
  readonly #answer: (call: Message) => void;
  #serial = 0;

  constructor(socket: Socket, name: string, answer: (call: Message) => void) {
    this.socket = socket;
    this.#name = name;
    this.#answer = answer;
    socket.on("error", () => {});
    this.#authenticate();
  }

  /** The first line begins with a zero byte. Any client that can open the socket is accepted. */
  #authenticate(): void {
    let rest = Buffer.alloc(0);
    const onData = (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk]);
      for (let end = rest.indexOf("\r\n"); end >= 0; end = rest.indexOf("\r\n")) {
        const line = rest.toString("latin1", 0, end);
        rest = rest.subarray(end + 2);
        if (line === "BEGIN") {
          this.socket.off("data", onData);
          return this.#begin(rest);
        }
        const isExternal = /^\0?AUTH EXTERNAL [0-9a-f]+$/.test(line);
        this.socket.write(isExternal ? `OK ${"0".repeat(32)}\r\n` : "REJECTED EXTERNAL\r\n");
      }
    };
    this.socket.on("data", onData);
  }

  /**
   * The client's first message can arrive together with the last line of the handshake. Like
   * systemd, the fake reads such a message only when more data arrives.
   */
  #begin(rest: Buffer): void {
    const listen = (bytes: Buffer) => {
      this.socket.unshift(bytes);
      this.#listen();
    };
    if (rest.length === 0) return listen(rest);
    this.socket.once("data", (more: Buffer) => listen(Buffer.concat([rest, more])));
  }

  #listen(): void {
    const onMessage = (raw: object) => {
      const call = new Message({ ...messageToJsFmt(raw), sender: this.#name });
      if (call.destination !== theBus) return this.#answer(call);
      const unknown = `${theBus}.Error.UnknownObject`;
      this.send(Message.newError(call as never, unknown, "no such object"));
    };
    unmarshalMessages(this.socket, onMessage, {});
  }

  /**
   * Sends a copy, because marshalling changes the message, and a signal goes to many connections.
   */
  send(message: Message): void {
    const [bytes] = marshallMessage({ ...message, serial: ++this.#serial });
    this.socket.write(bytes);
  }
}
