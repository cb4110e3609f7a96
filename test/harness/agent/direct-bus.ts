/**
 * A system bus with one program on it, inside the test's own process: for a machine without
 * dbus-daemon. dbus-next composes and parses the messages, as in the agent.
 *
 * It implements the part of a bus that the agent uses: the handshake (EXTERNAL), Hello, AddMatch.
 * It does not compare signals with match rules: after its first AddMatch a connection gets every
 * signal. Refusals, policies, limits and restarts of the bus are tested on a real one.
 *
 * systemd's own socket, `private` in /run/systemd, is served the same way, without Hello, names and
 * AddMatch: systemd has no such object, and sends its signals to every connection.
 */
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { Message, MessageType } from "dbus-next";

/** The connection of a scripted program to its clients. */
export type Wire = Readonly<{
  /** A reply to a message from here, or a signal. Never throws. */
  send(message: Message): void;
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
/** The program's own name on the bus. */
const programName = ":1.0";

/**
 * Serves a program in `directory`, as `system_bus_socket` or as `private`; `answer` gets each call
 * to the program.
 */
export async function serveDirectly(
  directory: string,
  answer: (call: Message) => void,
  socketName: "system_bus_socket" | "private" = "system_bus_socket",
): Promise<Wire> {
  const isPeer = socketName === "private";
  mkdirSync(directory, { recursive: true });
  const connections = new Map<string, Connection>();
  let names = 0;
  const server = createServer((socket) => {
    const name = `:1.${++names}`;
    connections.set(name, new Connection(socket, name, answer, isPeer));
    socket.on("close", () => connections.delete(name));
  });
  server.listen(join(directory, socketName));
  await once(server, "listening");
  return {
    send: (message) => {
      if (message.type === MessageType.SIGNAL) {
        for (const connection of connections.values())
          if (connection.listens) connection.send(message, programName);
      } else connections.get(message.destination)?.send(message, programName);
    },
    close: () => {
      server.close();
      for (const { socket } of connections.values()) socket.destroy();
    },
  };
}

/** One client, from its handshake to its end. */
class Connection {
  readonly socket: Socket;
  /** Whether it has added a match rule. */
  listens = false;
  readonly #name: string;
  readonly #isPeer: boolean;
  readonly #answer: (call: Message) => void;
  #serial = 0;

  constructor(socket: Socket, name: string, answer: (call: Message) => void, isPeer: boolean) {
    this.#isPeer = isPeer;
    this.listens = isPeer;
    this.socket = socket;
    this.#name = name;
    this.#answer = answer;
    // Some tests kill their client.
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
   * The first message may have come together with the last line. systemd then reads it only when
   * more data arrives.
   */
  #begin(rest: Buffer): void {
    const listen = () => {
      this.socket.unshift(rest);
      this.#listen();
    };
    if (!this.#isPeer || rest.length === 0) return listen();
    this.socket.once("data", (more: Buffer) => {
      rest = Buffer.concat([rest, more]);
      listen();
    });
  }

  #listen(): void {
    const onMessage = (raw: object) => {
      const call = new Message({ ...messageToJsFmt(raw), sender: this.#name });
      if (call.destination === theBus) this.#answerAsBus(call);
      else this.#answer(call);
    };
    unmarshalMessages(this.socket, onMessage, {});
  }

  #answerAsBus(call: Message): void {
    const unknown = "org.freedesktop.DBus.Error.UnknownObject";
    if (this.#isPeer)
      return this.send(Message.newError(call as never, unknown, "no such object"), theBus);
    if (call.member === "Hello")
      return this.send(Message.newMethodReturn(call, "s", [this.#name]), theBus);
    if (call.member !== "AddMatch") throw new Error(`no script for ${call.member} of the bus`);
    this.listens = true;
    this.send(Message.newMethodReturn(call, "", []), theBus);
  }

  /** Sends a copy: marshalling changes the message, and a signal goes to many connections. */
  send(message: Message, sender: string): void {
    const from = this.#isPeer ? {} : { sender };
    const [bytes] = marshallMessage({ ...message, ...from, serial: ++this.#serial });
    this.socket.write(bytes);
  }
}
