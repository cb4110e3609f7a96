/** What the commands need of the world, and how they say that they were called wrongly. */
import { Buffer } from "node:buffer";
import { createReadStream } from "node:fs";

export type Io = Readonly<{
  /**
   * The bytes of a file, or of standard input for `-`; at most `limit` and one more. Throws Misuse.
   */
  read(path: string, limit: number): Promise<Uint8Array>;
  out(text: string): void;
  err(line: string): void;
}>;

/** 0: done. 1: a document was refused. Misuse, thrown, becomes 2. */
export type ExitCode = 0 | 1;

/** The command line cannot be followed: one sentence, for standard error. */
export class Misuse extends Error {
  override readonly name = "Misuse";
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "no such file",
  EACCES: "may not be read",
  EISDIR: "is a directory",
  ENOTDIR: "no such file",
};

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
