/**
 * One connection to systemd over its own socket, by dbus-next. That has no deadlines, never rejects
 * a call when the connection dies, and takes every socket for a bus's; all of that is contained
 * here.
 */
import type { EventEmitter } from "node:events";
import type { Socket as NodeSocket } from "node:net";
import type { Message } from "dbus-next";
import { OwnError } from "../files/errno.ts";

/** No answer, or not from systemd: nothing is known about the unit. */
export class CouldNotAsk extends OwnError {}

/** systemd answered with an error. */
export class SystemdError extends OwnError {
  /** Such as `org.freedesktop.DBus.Error.AccessDenied`. */
  readonly type: string;
  constructor(type: string, text: string) {
    super(`${type}: ${text}`);
    this.type = type;
  }
}

/** There is no systemd on this node. */
export class NoSystemd extends CouldNotAsk {}

/** systemd, or what decides for it, has said no to a restart. */
export class RestartRefused extends OwnError {}

/** Errors that decide nothing: the same question may be answered a moment later. */
const passing =
  /\.(?:NoReply|Timeout|TimedOut|Disconnected|LimitsExceeded|NoMemory|TransactionIsDestructive|TransactionJobsConflicting|ShuttingDown)$/;

/** Whether the error is an answer to the question, such as AccessDenied. */
export function isAnswer({ type }: SystemdError): boolean {
  return !passing.test(type);
}

type Call = Readonly<{
  destination: string;
  path: string;
  interface: string;
  member: string;
  signature?: string;
  body?: readonly unknown[];
}>;

/** A job that has ended. */
type Ended = Readonly<{ job: unknown; result: string }>;

export type Peer = Readonly<{
  call(call: Call): Promise<unknown[]>;
  /** The job's result; it may have ended at any time since the connection was made. */
  endOf(job: unknown): Promise<string>;
}>;

export type Connection = Readonly<{
  /**
   * Gives `use` the connection as soon as it is made. Everything together has `deadline`
   * milliseconds. Throws CouldNotAsk when systemd cannot be reached, refuses us, dies or stays
   * silent, after which this connection is of no more use; and SystemdError when it answers with an
   * error.
   */
  within<T>(deadline: number, use: (connection: Peer) => Promise<T>): Promise<T>;
  /** Whether it died, or was stopped. */
  broken(): boolean;
  close(): void;
}>;

/**
 * dbus-next keeps these to itself; they are the only way to notice that the connection died or
 * Hello was answered.
 */
type Internals = {
  _connection: { stream: EventEmitter & Pick<NodeSocket, "write" | "destroy"> };
  _methodReturnHandlers: Record<number, () => void>;
};

/**
 * How many ends of jobs are kept, the newest. A connection makes one restart at most, whose end may
 * be read together with the reply; other jobs may end at the same time.
 */
const kept = 32;

/** Begins to connect to systemd's socket; `stop` ends whatever is being waited for. */
export async function connectTo(path: string, stop: AbortSignal): Promise<Connection> {
  const { Message, MessageType, sessionBus } = await import("dbus-next");
  const { promise: failed, reject } = Promise.withResolvers<never>();
  let broken = false;
  const fail = (why: string) => {
    broken = true;
    reject(new CouldNotAsk(why));
  };
  // When it loses a race below, it must not become an unhandled rejection.
  failed.catch(() => {});
  stop.throwIfAborted();
  const onStop = () => fail("stopped");
  stop.addEventListener("abort", onStop);

  // Only EXTERNAL: with its default methods dbus-next would go looking for cookies under $HOME and
  // hang.
  const options = { busAddress: `unix:path=${path}`, authMethods: ["EXTERNAL"] };
  const bus = sessionBus(options as Parameters<typeof sessionBus>[0]);
  const { _connection, _methodReturnHandlers: handlers } = bus as unknown as Internals;
  const { stream } = _connection;
  beginAtOnce(stream);
  bus.on("error", (error: unknown) =>
    fail(error instanceof Error ? error.message : "systemd refused us"),
  );
  for (const event of ["close", "end"])
    stream.on(event, () => fail("the connection to systemd was closed"));
  // What dbus-next throws while it parses would otherwise surface as an uncaught exception.
  guard(stream, (error) => fail(`unreadable message: ${error.message}`));

  // dbus-next greets a bus. systemd has no such object and answers with an error, which ends the
  // handshake as well.
  const hello = 1;
  const ready = new Promise<void>((resolve) => {
    handlers[hello] = () => resolve();
  });

  const ended: Ended[] = [];
  let listener: ((one: Ended) => void) | undefined;
  bus.on("message", ({ type, member, body }: Message) => {
    // Unasked, systemd sends its direct peers every signal, such as each change of each unit.
    if (type !== MessageType.SIGNAL || member !== "JobRemoved") return;
    const one = { job: body[1], result: String(body[3]) };
    if (ended.push(one) > kept) ended.shift();
    listener?.(one);
  });

  const race = <R>(other: Promise<R>): Promise<R> => Promise.race([other, failed]);
  const connection: Peer = {
    call: async (call) => {
      // It throws where an answer is used that is no path.
      const ask = async () =>
        await bus.call(new Message({ ...call, body: [...(call.body ?? [])] }));
      const reply = await race(ask().catch((error: unknown) => Promise.reject(translate(error))));
      return reply?.body ?? [];
    },
    endOf: (job) =>
      race(
        new Promise<string>((resolve) => {
          listener = (one) => void (one.job === job && resolve(one.result));
          // The end may have been read together with the reply, before the caller runs again.
          ended.forEach(listener);
        }),
      ),
  };
  return {
    within: async (deadline, use) => {
      const timer = setTimeout(() => fail(`no answer within ${deadline / 1000} s`), deadline);
      try {
        await race(ready);
        return await use(connection);
      } finally {
        clearTimeout(timer);
      }
    },
    broken: () => broken,
    close: () => {
      stop.removeEventListener("abort", onStop);
      stream.destroy();
    },
  };
}

/**
 * Ends the handshake with its first line, as systemctl does. dbus-next sends BEGIN with the first
 * message behind it. Whatever systemd reads together with BEGIN, it leaves in its buffer until more
 * comes, and nothing comes: we wait for the answer. In one write both lines are read together.
 */
function beginAtOnce(stream: Pick<NodeSocket, "write">): void {
  const write = stream.write.bind(stream);
  const begin = "BEGIN\r\n";
  stream.write = (data: string | Uint8Array) => {
    if (data === begin) return true;
    return write(typeof data === "string" && data.startsWith("AUTH ") ? data + begin : data);
  };
}

function translate(error: unknown): Error {
  if (error instanceof Error && "type" in error && typeof error.type === "string")
    return new SystemdError(error.type, "text" in error ? String(error.text) : error.message);
  return new CouldNotAsk(error instanceof Error ? error.message : String(error));
}

/** Turns an exception of any `readable` listener on the stream into a report. */
function guard(stream: EventEmitter, report: (error: Error) => void): void {
  const emit = stream.emit.bind(stream);
  stream.emit = (event: string | symbol, ...args: unknown[]) => {
    try {
      return emit(event, ...args);
    } catch (error) {
      report(error instanceof Error ? error : new Error(String(error)));
      return true;
    }
  };
}
