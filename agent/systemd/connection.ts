/**
 * One connection to systemd over its own socket, with dbus-next. dbus-next has no deadlines, never
 * rejects a call when the connection dies, and treats every socket as a message bus. This file
 * corrects all three.
 */
import type { EventEmitter } from "node:events";
import type { Socket as NodeSocket } from "node:net";
import type { Message } from "dbus-next";
import { OwnError } from "../files/errno.ts";

/** systemd did not answer, or another program answered. The state of the unit is unknown. */
export class NoAnswer extends OwnError {}

/** systemd stayed silent until the deadline. */
export class Silence extends NoAnswer {}

/**
 * The agent is being stopped. This says nothing about systemd, so no decision may rest on it: it
 * ends the round.
 */
export class Stopped extends OwnError {
  constructor() {
    super("stopped");
  }
}

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
export class NoSystemd extends NoAnswer {}

/** systemd, or a policy that systemd consults, refused a restart. */
export class RestartRefused extends OwnError {}

/** Temporary errors: the same request might succeed a moment later. */
const transient =
  /\.(?:NoReply|Timeout|TimedOut|Disconnected|LimitsExceeded|NoMemory|TransactionIsDestructive|TransactionJobsConflicting|ShuttingDown)$/;

/** Whether the error is a definite answer, such as AccessDenied. */
export function isDefinite({ type }: SystemdError): boolean {
  return !transient.test(type);
}

type Call = Readonly<{
  destination: string;
  path: string;
  interface: string;
  member: string;
  signature?: string;
  body?: readonly unknown[];
}>;

type Ended = Readonly<{ job: unknown; result: string }>;

export type Peer = Readonly<{
  call(call: Call): Promise<unknown[]>;
  /** The job's result, even if the job ended before this call. */
  resultOf(job: unknown): Promise<string>;
}>;

export type Connection = Readonly<{
  /**
   * Calls `use` after the connection is made. Connecting and `use` together must end within
   * `deadline` milliseconds. Throws NoAnswer if systemd cannot be reached, refuses us or dies, and
   * Silence if the deadline passes; then this connection cannot be used any more. Throws
   * SystemdError if systemd answers with an error, and Stopped if the agent is being stopped.
   */
  within<T>(deadline: number, use: (connection: Peer) => Promise<T>): Promise<T>;
  /** Whether the connection died or was stopped. */
  broken(): boolean;
  close(): void;
}>;

/**
 * Private members of dbus-next. They are the only way to notice that the connection died or that
 * Hello was answered.
 */
type Internals = {
  _connection: { stream: EventEmitter & Pick<NodeSocket, "write" | "destroy"> };
  _methodReturnHandlers: Record<number, () => void>;
};

/**
 * How many ended jobs we remember, the newest ones. A connection makes at most one restart. The end
 * of this restart's job can arrive together with the reply, among the ends of other jobs.
 */
const mostEnded = 32;

/** Starts to connect to systemd's socket. `stop` ends any wait. */
export async function connectTo(path: string, stop: AbortSignal): Promise<Connection> {
  const { Message, sessionBus } = await import("dbus-next");
  const { promise: failed, reject } = Promise.withResolvers<never>();
  let broken = false;
  const fail = (error: Error) => {
    broken = true;
    reject(error);
  };
  // If this promise loses a race below, it must not become an unhandled rejection.
  failed.catch(() => {});
  if (stop.aborted) throw new Stopped();
  const onStop = () => fail(new Stopped());
  stop.addEventListener("abort", onStop);

  // Only EXTERNAL: with its default methods, dbus-next would search for cookies under $HOME and
  // hang.
  const options = { busAddress: `unix:path=${path}`, authMethods: ["EXTERNAL"] };
  const bus = sessionBus(options as Parameters<typeof sessionBus>[0]);
  const { _connection, _methodReturnHandlers: handlers } = bus as unknown as Internals;
  const { stream } = _connection;
  beginAtOnce(stream);
  bus.on("error", (error: unknown) =>
    fail(new NoAnswer(error instanceof Error ? error.message : "systemd refused the connection")),
  );
  for (const event of ["close", "end"])
    stream.on(event, () => fail(new NoAnswer("the connection to systemd was closed")));
  // Without this, an error of dbus-next's parser would become an uncaught exception.
  guard(stream, (error) => fail(new NoAnswer(`unreadable message: ${error.message}`)));

  // dbus-next calls Hello, a method of a message bus. systemd does not have this method and answers
  // with an error, which also ends the handshake.
  const hello = 1;
  const ready = new Promise<void>((resolve) => {
    handlers[hello] = () => resolve();
  });

  const ended: Ended[] = [];
  let listener: ((endedJob: Ended) => void) | undefined;
  bus.on("message", ({ member, body }: Message) => {
    // systemd sends its direct peers every signal, such as each change of each unit.
    if (member !== "JobRemoved") return;
    const endedJob = { job: body[1], result: String(body[3]) };
    if (ended.push(endedJob) > mostEnded) ended.shift();
    listener?.(endedJob);
  });

  const race = <R>(other: Promise<R>): Promise<R> => Promise.race([other, failed]);
  const connection: Peer = {
    call: async (call) => {
      // Inside an async function, because the constructor throws if the path is not valid.
      const ask = async () =>
        await bus.call(new Message({ ...call, body: [...(call.body ?? [])] }));
      const reply = await race(ask().catch((error: unknown) => Promise.reject(translate(error))));
      return reply?.body ?? [];
    },
    resultOf: (job) =>
      race(
        new Promise<string>((resolve) => {
          listener = (endedJob) => void (endedJob.job === job && resolve(endedJob.result));
          // The end of the job might have arrived together with the reply.
          ended.forEach(listener);
        }),
      ),
  };
  return {
    within: async (deadline, use) => {
      const timer = setTimeout(
        () => fail(new Silence(`no answer within ${deadline / 1000} s`)),
        deadline,
      );
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
 * Sends BEGIN, the last line of the handshake, together with AUTH, the first line, as systemctl
 * does. dbus-next would send BEGIN right before the first message. If systemd reads a message
 * together with BEGIN, the message stays in systemd's buffer until more bytes arrive. But we send
 * no more bytes, because we wait for the answer.
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
  return new NoAnswer(error instanceof Error ? error.message : String(error));
}

/** Reports exceptions of `readable` listeners on the stream. */
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
