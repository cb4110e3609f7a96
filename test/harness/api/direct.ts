/**
 * Fake API server without a network: it answers the calls of lib/kube/client in memory, in the same
 * turn of the event loop, so that a test can use a fake clock. A watch ends only when its client
 * aborts it, because the fake has no clock that could end the watch.
 */
import { once } from "node:events";
import type { ResponseContext } from "@kubernetes/client-node";
import { Gathered } from "#kube/client/answer-bytes.ts";
import { ApiError, unreachable } from "#kube/client/api-error.ts";
import { callsOver } from "#kube/client/client.ts";
import type { Replacing } from "#kube/client/cluster.ts";
import type { Request } from "#kube/client/connection.ts";
import type { Answer, FakeApi } from "./api.ts";

/** Bytes: more than any answer in a test. */
const largest = 2 ** 30;

/**
 * A client that calls this API. `manager`: the program's name, as field manager and as user agent.
 */
export function directly(api: FakeApi, manager: string): Replacing {
  const answered = ({ method, path, query = {}, body, type, accept }: Request): Answer =>
    api.answer({
      method,
      path,
      query,
      accept,
      type,
      body: body && asJson(body),
      userAgent: manager,
    });
  return callsOver({
    server: "memory",
    manager,
    largest,
    async ask<T>(request: Request): Promise<T> {
      const { method, path } = request;
      const [where = "", search] = path.split("?");
      const query = { ...Object.fromEntries(new URLSearchParams(search)), ...request.query };
      const answer = answered({ ...request, path: where, query });
      if ("follow" in answer)
        throw unreachable(method, path, new Error("a watch is not one answer"));
      const { status, body, headers = {} } = answer;
      if (status >= 300) {
        const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
        const context = { httpStatusCode: status, headers: Object.fromEntries(lower) };
        throw ApiError.from(method, path, context as ResponseContext, JSON.stringify(body));
      }
      const text = new Gathered("the answer", request.largest ?? largest, request.mostValues);
      try {
        text.add(Buffer.from(JSON.stringify(body)));
      } catch (error) {
        throw unreachable(method, path, error);
      }
      return JSON.parse(text.take()) as T;
    },
    async send(request: Request, signal: AbortSignal): Promise<ResponseContext> {
      const answer = answered(request);
      const stream = () =>
        "follow" in answer ? linesOf(answer, signal) : [JSON.stringify(answer.body)];
      return {
        httpStatusCode: answer.status,
        headers: {},
        body: { stream },
      } as unknown as ResponseContext;
    },
  });
}

async function* linesOf(
  { follow }: Extract<Answer, { follow: unknown }>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const waiting: string[] = [];
  let wake = () => {};
  const end = follow((line) => {
    waiting.push(line);
    wake();
  });
  const aborted = signal.aborted ? Promise.resolve() : once(signal, "abort");
  try {
    while (!signal.aborted) {
      if (waiting.length === 0)
        await Promise.race([aborted, new Promise<void>((resolve) => (wake = resolve))]);
      for (const line of waiting.splice(0)) yield Buffer.from(line);
    }
    throw signal.reason;
  } finally {
    end();
  }
}

const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
