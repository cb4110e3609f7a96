/** Reads a watch: the lines that the server sends. */
import { HttpMethod, type ResponseContext } from "@kubernetes/client-node";
import { ApiError, unreachable } from "./api-error.ts";
import type { Query } from "./cluster.ts";
import { bounded, type Connection } from "./connection.ts";
import { Gathered } from "./answer-bytes.ts";
import { retried } from "./retry.ts";

/**
 * Seconds for which a watch can be silent before we end it. The server sends a bookmark about once
 * a minute.
 */
const silenceSeconds = 90;

/** Milliseconds during which we try to start a watch. After that, the caller's loop waits. */
const startMilliseconds = 30_000;

const lineEnd = 0x0a;

/** `accept`: content type of the answer, if it is not JSON of the whole objects. */
type Watched = Readonly<{ path: string; query: Query; accept?: string }>;

/**
 * Calls `line` with each line of a list-then-watch request, until the server ends it. Rejects with
 * ApiError if the request is aborted, silent for too long or refused, or if a line is longer than
 * the limit of an answer. An error that `line` throws ends the watch, and is passed on unchanged.
 */
export async function follow(
  connection: Connection,
  watched: Watched,
  signal: AbortSignal,
  line: (line: string) => void,
): Promise<void> {
  // A variable with the text would keep it until the next line comes, which can be a minute.
  for await (const rest of linesOf(connection, watched, signal)) line(rest.take());
}

/** Yields at the end of each line. The caller takes the line. */
async function* linesOf(
  connection: Connection,
  { query, ...watched }: Watched,
  signal: AbortSignal,
): AsyncGenerator<Gathered> {
  const silence = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const received = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), silenceSeconds * 1000);
  };
  received();
  try {
    const either = AbortSignal.any([signal, silence.signal]);
    const watch = { ...query, watch: "true" };
    const start = () => opened(connection, { ...watched, query: watch }, either);
    const signals = [either, connection.stop];
    const response = await retried(start, { milliseconds: startMilliseconds, signals });
    const rest = new Gathered("a line of the watch", connection.largest, connection.mostValues);
    for await (const chunk of response.body.stream() ?? []) {
      received();
      let from = 0;
      for (;;) {
        const end = chunk.indexOf(lineEnd, from);
        rest.add(chunk.subarray(from, end < 0 ? chunk.length : end));
        if (end < 0) break;
        yield rest;
        from = end + 1;
      }
    }
  } catch (error) {
    throw error instanceof ApiError ? error : unreachable("WATCH", watched.path, error);
  } finally {
    clearTimeout(timer);
  }
}

/** The answer to a watch request that the server accepted. */
async function opened(
  { send, largest, mostValues }: Connection,
  watched: Watched,
  signal: AbortSignal,
): Promise<ResponseContext> {
  const { path } = watched;
  const response = await send({ method: HttpMethod.GET, ...watched }, signal);
  if (response.httpStatusCode === 200) return response;
  throw ApiError.from("GET", path, response, await bounded(response, largest, mostValues));
}
