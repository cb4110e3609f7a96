/** What a bus needs of dbus-next, which types only what a client needs. */
declare module "dbus-next/lib/message.js" {
  import type { Readable } from "node:stream";
  export function unmarshalMessages(stream: Readable, each: (read: object) => void): void;
}

declare module "dbus-next/lib/marshall-compat.js" {
  import type { Message } from "dbus-next";
  export function messageToJsFmt(read: object): object;
  export function marshallMessage(message: Message): [bytes: Buffer, descriptors: number[]];
}
