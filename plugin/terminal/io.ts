/** The commands' inputs and outputs, and the errors that end them. */
import { Buffer } from "node:buffer";
import { createReadStream } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import type { LiveTerminal } from "./live.ts";
import type { Cluster } from "#kube/client/cluster.ts";

export type Io = Readonly<{
  /**
   * The bytes of a file, or of standard input for `-`; at most `limit` and one more. Throws Misuse.
   */
  read(path: string, limit: number): Promise<Uint8Array>;
  /** Writes a file that only its owner may read (0600), whole or not at all. Throws Misuse. */
  write(path: string, text: string): Promise<void>;
  /** Whether standard input is a pipe or a file: something that its sender wants read. */
  piped: boolean;
  /** Written as it is: what others wrote in it has to be escaped before, as `print` does. */
  out(text: string): void;
  /** One line on standard error; whatever is in the text, it cannot fool a terminal. */
  err(line: string): void;
  /** Asks a question of yes or no; undefined if standard input is not a terminal. */
  confirm: ((question: string) => Promise<boolean>) | undefined;
  /** The terminal that standard output goes to; undefined for a file or a pipe. */
  terminal: Terminal | undefined;
  /** Where a live line is drawn; undefined if standard error is not a terminal. */
  live: LiveTerminal | undefined;
  /** Throws Misuse where the kubeconfig cannot be used. */
  reach(how: Reach): Promise<Cluster>;
  /** Where that leads, for others to connect to. Throws Misuse as `reach`. */
  place(how: Reach): Promise<ServerAddress>;
  /** Names of the kubeconfig's contexts. Throws Misuse where it cannot be used. */
  contexts(kubeconfig: string | undefined): Promise<readonly string[]>;
  /** The namespace of the kubeconfig's context; `default` without one. Throws Misuse as `reach`. */
  namespace(how: Reach): Promise<string>;
  yaml(value: unknown): Promise<string>;
  /** The documents of a YAML text. Throws if it is not YAML; the error may quote the text. */
  documents(text: string): Promise<readonly unknown[]>;
  /**
   * Aborts on Ctrl-C, which from the first access on no longer ends the process by itself: whoever
   * takes it gives it to all that is waited for after.
   */
  signal: AbortSignal;
}>;

export type Terminal = Readonly<{ columns: number; colour: boolean }>;

/** How a cluster is reached: the flags of every command that needs one. */
export type Reach = Readonly<{
  kubeconfig: string | undefined;
  context: string | undefined;
  /** Seconds that an answer may take. */
  "request-timeout": number;
  as: string | undefined;
  "as-group"?: readonly (string | undefined)[] | undefined;
  /** `server`: writes are judged there, and nothing is stored. */
  "dry-run"?: "none" | "server";
  user?: string | undefined;
  cluster?: string | undefined;
  /** The token to use in place of the kubeconfig's credential. */
  token?: string;
}>;

/** A kubeconfig's cluster, as data: what another program needs to connect to it. */
export type ServerAddress = Readonly<{
  server: string;
  /** Without one, other programs use the roots of their machines, as `extensions` asks. */
  "certificate-authority-data"?: string;
  "tls-server-name"?: string;
  extensions?: readonly object[];
}>;

/**
 * The exit code of a command. 0: done. 1: refused, or failed. 3: not yet, in the time given.
 * Misuse, thrown, becomes 2.
 */
export type ExitCode = 0 | 1 | 3;

/** The command line cannot be followed: one sentence, for standard error. */
export class Misuse extends Error {
  override readonly name = "Misuse";
}

/** It cannot be done, and why: a line or more, for standard error; exit code 1. */
export class Refused extends Error {
  override readonly name = "Refused";
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "no such file",
  EACCES: "may not be read",
  EISDIR: "is a directory",
  ENOTDIR: "no such file",
};

/** Written beside the file and renamed: an old file may have a mode that lets others read. */
export async function writePrivate(path: string, text: string): Promise<void> {
  const beside = `${path}.${process.pid}.tmp`;
  try {
    // What is there already is not ours to remove.
    const file = await open(beside, "wx", 0o600);
    try {
      await file.writeFile(text).finally(() => file.close());
      await rename(beside, path);
    } catch (error) {
      await rm(beside, { force: true });
      throw error;
    }
  } catch (error) {
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    throw new Misuse(`${path}: cannot be written (${code}); give a file in a folder of yours`);
  }
}

/** Reads no more than is needed to see that something is too long: `/dev/zero` ends as well. */
export async function readBounded(path: string, limit: number): Promise<Uint8Array> {
  const stream = path === "-" ? process.stdin : createReadStream(path, { end: limit });
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
  return Buffer.concat(chunks).subarray(0, limit + 1);
}
