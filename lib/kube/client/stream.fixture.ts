/** For tests: watches of a server that sends anything, in any chunks. */
import { Buffer } from "node:buffer";
import type { ResponseContext } from "@kubernetes/client-node";
import type { Connection } from "./connection.ts";
import { follow } from "./stream.ts";

export const mebibyte = 1024 * 1024;

type Answer = Readonly<{
  status?: number;
  received?: (line: string) => void;
  /** Maximum number of bytes of a line, or of a refusal. */
  largest?: number;
  /** Maximum number of JSON values in a line, or in a refusal. */
  mostValues?: number;
}>;

/**
 * The lines of an answer that arrives in these chunks, and whether the reader stopped before the
 * end of the answer.
 */
export async function lines(
  chunks: Iterable<string | Uint8Array>,
  { status = 200, received = () => {}, largest = mebibyte, mostValues }: Answer = {},
) {
  const receivedLines: string[] = [];
  let ended = false;
  async function* stream() {
    try {
      for (const chunk of chunks) yield typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    } finally {
      ended = true;
    }
  }
  const response = {
    httpStatusCode: status,
    headers: {},
    body: { stream },
  } as unknown as ResponseContext;
  const connection = {
    largest,
    mostValues,
    send: () => Promise.resolve(response),
  } as unknown as Connection;
  const never = new AbortController().signal;
  const watched = { path: "/api/v1/secrets", query: {} };
  const error = await follow(connection, watched, never, (line) => {
    received(line);
    receivedLines.push(line);
  }).then(
    () => undefined,
    (reason: Error) => reason,
  );
  return { found: receivedLines, error, ended };
}

/** An endless line, one byte at a time; counts the bytes that were read. */
export function dripping() {
  const byte = Buffer.from("x");
  let taken = 0;
  function* drips() {
    for (;;) {
      taken += 1;
      yield byte;
    }
  }
  return { drips: drips(), taken: () => taken };
}
