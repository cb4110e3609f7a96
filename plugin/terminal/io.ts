/** The commands' inputs and outputs, and the errors that end them. */
import { Buffer } from "node:buffer";
import { createReadStream } from "node:fs";
import { writeWholeFile } from "#runtime/whole-file.ts";
import type { Replacing } from "#kube/client/cluster.ts";
import { escape } from "#pullsecret/problems/keypath.ts";
import type { EventEmitter } from "node:events";

/** Files and standard input. */
export type FileIo = Readonly<{
  /**
   * The bytes of a file, or of standard input for `-`. Stops when it has more than `limit` bytes,
   * which show that the input is too long. Throws Misuse.
   */
  read(path: string, limit: number): Promise<Uint8Array>;
  /** Writes a file that only its owner can read (0600), whole or not at all. Throws Misuse. */
  write(path: string, text: string): Promise<void>;
  /**
   * Whether standard input is a pipe or a file. If it is, the user probably wants us to read it.
   */
  piped: boolean;
  /** The documents of a YAML text. Throws if the text is not YAML. The error can quote the text. */
  documents(text: string): Promise<readonly unknown[]>;
}>;

/** What the user sees, and how the user answers. */
export type ScreenIo = Readonly<{
  /** Prints the text unchanged. Callers must escape text of other programs. `print` does this. */
  out(text: string): void;
  /** Prints one line on standard error. Escapes the text, so that it cannot fool a terminal. */
  err(line: string): void;
  /** The value as YAML, to print it. */
  yaml(value: unknown): Promise<string>;
  /** Asks a yes-or-no question. Undefined if standard input is not a terminal. */
  confirm: ((question: string) => Promise<boolean>) | undefined;
  /**
   * Asks for a password without showing it. Returns undefined if the user gives up. The function is
   * undefined if standard input is not a terminal.
   */
  askPassword: ((question: string) => Promise<string | undefined>) | undefined;
  /** Whether standard output is a terminal with colours. */
  colour: boolean;
  /**
   * Aborts on Ctrl-C. After code has read this property, Ctrl-C no longer ends the process by
   * itself, so pass this signal to everything that you wait for.
   */
  signal: AbortSignal;
}>;

/** The clusters of the kubeconfig. Each function throws Misuse if the kubeconfig cannot be used. */
export type ClusterIo = Readonly<{
  reach(how: Reach): Promise<Replacing>;
  /** The cluster's address and certificate authority, with which another program can connect. */
  place(how: Reach): Promise<ServerAddress>;
  /** Names of the kubeconfig's contexts. */
  contexts(kubeconfig: string | undefined): Promise<readonly string[]>;
  /** The namespace of the kubeconfig's context. `default` if the context has no namespace. */
  namespace(how: Reach): Promise<string>;
}>;

/** Everything that a command can use. A function takes only the part that it uses. */
export type Io = FileIo & ScreenIo & ClusterIo;

/** How to reach a cluster: the flags of every command that needs a cluster. */
export type Reach = Readonly<{
  kubeconfig: string | undefined;
  context: string | undefined;
  /** Maximum number of seconds to wait for an answer. Default: 30. */
  seconds?: number;
  /** The token to use in place of the kubeconfig's credential. */
  token?: string;
}>;

/** The data about a kubeconfig's cluster that another program needs to connect to the cluster. */
export type ServerAddress = Readonly<{
  server: string;
  /**
   * Undefined if the program must use the trusted roots of its machine. `extensions` then records
   * this.
   */
  "certificate-authority-data"?: string;
  "tls-server-name"?: string;
  extensions?: readonly object[];
}>;

/**
 * The exit code of a command. 0: done. 1: refused or failed. 2: the command throws Misuse. 3: not
 * done within the given time.
 */
export type ExitCode = 0 | 1 | 3;

/** The command line is not valid. The message is one sentence, for standard error. */
export class Misuse extends Error {
  override readonly name = "Misuse";
}

/**
 * The command cannot do its work. The message has the reason, in one or more lines for standard
 * error. The exit code is 1.
 */
export class Refused extends Error {
  override readonly name = "Refused";
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "no such file",
  EACCES: "may not be read",
  EISDIR: "is a directory",
  ENOTDIR: "no such file",
};

/** Writes a file that only its owner can read. Throws Misuse. */
export async function writePrivate(path: string, text: string): Promise<void> {
  try {
    await writeWholeFile(path, text);
  } catch (error) {
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    throw new Misuse(`${path}: cannot be written (${code}); give a file in a folder of yours`);
  }
}

/** Stops reading as soon as the input is too long, so that reading `/dev/zero` ends too. */
export async function readBounded(path: string, limit: number): Promise<Uint8Array> {
  const stream = path === "-" ? process.stdin : createReadStream(path);
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of stream) {
      chunks.push(chunk as Buffer);
      length += (chunk as Buffer).length;
      if (length > limit) break;
    }
  } catch (error) {
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    throw new Misuse(
      `${path}: ${reasons[code] ?? `cannot be read (${code})`}; give a readable file, or - for standard input`,
    );
  }
  return Buffer.concat(chunks);
}

/**
 * Writes each text as one line. We escape control characters, because text from clusters could fool
 * a terminal. Text that is already escaped stays unchanged.
 */
export const errTo =
  (write: (text: string) => void) =>
  (line: string): void =>
    write(`${escape(line)}\n`);

/**
 * The error's kind, its code and its place in our code. We leave out the message, because it can
 * quote a pull secret.
 */
export function unexpectedLine(error: unknown): string {
  const { name = typeof error, code, stack = "" } = (error ?? {}) as Partial<NodeJS.ErrnoException>;
  const [, place = "an unknown place"] = /([^/\\( ]+:\d+:\d+)\)?$/m.exec(stack) ?? [];
  const kind = code === undefined ? name : `${name} ${code}`;
  return `unexpected ${kind} at ${place}: report this line, and what kubectl pull-secret version prints`;
}

/**
 * Returns a function that provides a signal. The signal aborts on the first interrupt of the
 * process. The second interrupt ends the process. If no code has called the function, even the
 * first interrupt ends the process.
 */
export function interruptOf(source: Pick<EventEmitter, "once">): () => AbortSignal {
  let ends: AbortController | undefined;
  return () => {
    if (ends !== undefined) return ends.signal;
    const controller = (ends = new AbortController());
    source.once("SIGINT", () => controller.abort());
    return controller.signal;
  };
}
