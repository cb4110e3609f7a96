/**
 * A fake, for the image's build, where there is no bus: answers the agent as a bus and systemd with a running kubelet would, up to
 * the request for a restart. The real ones are in the tests.
 */
import { once } from "node:events";
import { createServer } from "node:net";
import { PassThrough, type Readable, type Writable } from "node:stream";
import { Message, Variant } from "dbus-next";
import { marshallMessage, messageToJsFmt } from "dbus-next/lib/marshall-compat.js";
import { unmarshalMessages } from "dbus-next/lib/message.js";

const properties: Readonly<Record<string, Variant>> = {
  StateChangeTimestampMonotonic: new Variant("t", 1n),
  LoadState: new Variant("s", "loaded"),
  ActiveState: new Variant("s", "active"),
  SubState: new Variant("s", "running"),
  InvocationID: new Variant("ay", Buffer.alloc(16, 1)),
  Job: new Variant("(uo)", [0, "/"]),
  StartLimitIntervalUSec: new Variant("t", 0n),
  MainPID: new Variant("u", 1),
  NRestarts: new Variant("u", 0),
  Result: new Variant("s", "success"),
  RestartUSec: new Variant("t", 0n),
};

/** Signature and body of each answer. */
const answers: Readonly<Record<string, (property: string) => readonly [signature: string, ...body: unknown[]]>> = {
  Hello: () => ["s", ":1.1"],
  AddMatch: () => [""],
  Subscribe: () => [""],
  Get: (property) => ["v", properties[property]],
};

/** Listens at `socket`; `stranger` is called for a method that has no answer here, such as RestartUnit. */
export async function playBus(socket: string, stranger: (member: string) => void): Promise<void> {
  const server = createServer((agent) => {
    const messages = new PassThrough();
    let talk = "";
    agent.on("data", (bytes: Buffer) => {
      if (talk.includes(begin)) return void messages.write(bytes);
      // One byte, one character.
      talk += bytes.toString("latin1");
      if (talk.endsWith("\r\n") && !talk.includes(begin)) agent.write("OK 0\r\n");
      const at = talk.indexOf(begin);
      if (at >= 0) messages.write(Buffer.from(talk.slice(at + begin.length), "latin1"));
    });
    answerAll(messages, agent, stranger);
  });
  await once(server.listen(socket), "listening");
}

/** What a client says last before it sends messages. */
const begin = "BEGIN\r\n";

function answerAll(messages: Readable, agent: Writable, stranger: (member: string) => void): void {
  let serial = 0;
  unmarshalMessages(messages, (read) => {
    const call = new Message(messageToJsFmt(read));
    const answer = answers[call.member]?.(String(call.body[1]));
    if (answer === undefined) return stranger(call.member);
    const [signature, ...body] = answer;
    const reply = Message.newMethodReturn(call, signature, body);
    agent.write(marshallMessage(Object.assign(reply, { serial: ++serial }))[0]);
  });
}
