/** A watch, as the lines that the server sends. */
import { HttpMethod } from "@kubernetes/client-node";
import { ApiError } from "./api-error.ts";
import type { Query } from "./cluster.ts";
import { type Connection, unreachable } from "./connection.ts";

/** Seconds that a watch may be silent. The server sends a bookmark about once a minute. */
const silenceSeconds = 90;

/**
 * Calls `line` with each line of a list-then-watch request, until the server ends it. Rejects with
 * ApiError when aborted, silent for too long or refused, or when a line is longer than any answer
 * may be.
 */
export async function follow(
  { send, largest }: Connection,
  { path, query }: Readonly<{ path: string; query: Query }>,
  signal: AbortSignal,
  line: (line: string) => void,
): Promise<void> {
  const silence = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), silenceSeconds * 1000);
  };
  heard();
  try {
    const either = AbortSignal.any([signal, silence.signal]);
    const watch = { ...query, watch: "true" };
    const response = await send({ method: HttpMethod.GET, path, query: watch }, either);
    if (response.httpStatusCode !== 200) {
      const refusal = (await response.body.text()).slice(0, largest);
      throw ApiError.from("GET", path, response, refusal);
    }
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of response.body.stream() ?? []) {
      heard();
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > largest) throw new Error("an endless line");
      for (const one of lines) line(one);
    }
  } catch (error) {
    throw error instanceof ApiError ? error : unreachable("WATCH", path, error);
  } finally {
    clearTimeout(timer);
  }
}
