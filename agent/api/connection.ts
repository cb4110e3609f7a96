/** Requests to the API server. An error contains nothing of what the API server sent. */
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { OwnError } from "../files/errno.ts";
import { readRegular } from "../files/own-file.ts";

/** The API server refused a request, or ended a watch with an error. */
export class Refusal extends OwnError {
  readonly status: number;
  /** Seconds that the API server requests until the next attempt; 0 if it requests none. */
  readonly retryAfter: number;
  constructor(status: number, retryAfter = 0) {
    super(`status ${status}`);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/** The most bytes of an answer, and of one event of a watch. A Secret has at most 1.4 MB. */
const mostBytes = 4 * 1024 * 1024;

/** The most bytes of the token and of ca.crt, which can hold a hundred certificates. */
const mostCredential = 256 * 1024;

/** Milliseconds without a byte after which a connection is given up. */
export type Silence = Readonly<{
  /** Until the answer begins, and within an answer. The API server can queue requests for 15 s. */
  answer: number;
  /** Within a watch. The API server sends a bookmark about once a minute. */
  watch: number;
}>;

type ConnectionOptions = Readonly<{
  host: string;
  port: number;
  /** Directory with `token` and `ca.crt`, which the kubelet replaces from time to time. */
  credentials: string;
  signal: AbortSignal;
  silence: Silence;
}>;

export type Connection = Readonly<{
  /** Sends one request, and returns the parsed answer. Throws Refusal and errors of the system. */
  call: (method: "GET" | "PATCH", path: string, body?: object) => Promise<unknown>;
  /**
   * Starts a watch. The lines, parsed, come until the API server ends the watch. Throws as `call`
   * does.
   */
  watch: (path: string) => Promise<AsyncIterable<unknown>>;
  /** The API server's time in milliseconds since 1970. It is exact to a second. */
  time: () => number;
}>;

/** Makes no request yet. */
export function connectTo(options: ConnectionOptions): Connection {
  const { silence } = options;
  // The two watches use two connections all the time. A third one, for reports, is closed soon,
  // because each connection costs memory on both sides.
  const agent = new Agent({ keepAlive: true, keepAliveMsecs: 30_000, timeout: 10_000 });
  /** What the API server's clock would have shown when this process began. */
  let origin = Date.now() - performance.now();

  async function answerTo(sent: Sent): Promise<IncomingMessage> {
    const response = await send(options, agent, sent);
    const date = Date.parse(response.headers.date ?? "");
    if (Number.isFinite(date)) origin = date - performance.now();
    const { statusCode = 0, headers } = response;
    if (statusCode >= 200 && statusCode < 300) return response;
    // Only a connection whose answer was read to its end can be used again.
    await bytesOf(response);
    throw new Refusal(statusCode, Number(headers["retry-after"]) || 0);
  }

  return {
    call: async (method, path, body) =>
      parse(await bytesOf(await answerTo({ method, path, body }))),
    watch: async (path) => {
      const response = await answerTo({ method: "GET", path });
      response.socket.setTimeout(silence.watch);
      return linesOf(response);
    },
    time: () => origin + performance.now(),
  };
}

type Sent = Readonly<{ method: string; path: string; body?: object | undefined }>;

/** Sends a request. Resolves when the head of the answer has arrived. */
async function send(
  { host, port, credentials, signal, silence }: ConnectionOptions,
  agent: Agent,
  { method, path, body }: Sent,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const text = body && JSON.stringify(body);
  const outgoing = request({
    host,
    port,
    method,
    path,
    agent,
    signal,
    ca: readCredential(join(credentials, "ca.crt")),
    timeout: silence.answer,
    headers: {
      authorization: `Bearer ${readCredential(join(credentials, "token")).trim()}`,
      accept: "application/json",
      "user-agent": "global-pull-secret-agent",
      ...(text !== undefined && {
        "content-type": "application/merge-patch+json",
        "content-length": Buffer.byteLength(text),
      }),
    },
  });
  let response: IncomingMessage | undefined;
  outgoing.on("response", (incoming) => {
    response = incoming;
    resolve(incoming);
  });
  outgoing.on("error", reject);
  outgoing.on("timeout", () =>
    (response ?? outgoing).destroy(new OwnError("the connection is silent")),
  );
  outgoing.end(text);
  return await promise;
}

function readCredential(file: string): string {
  const read = readRegular(file, mostCredential, "follow");
  if ("bytes" in read) return read.bytes.toString("latin1");
  throw new OwnError(`${file} is not a regular file, or is too large`);
}

async function bytesOf(response: IncomingMessage): Promise<Buffer> {
  const gathered = new Gathered();
  for await (const chunk of response) gathered.add(chunk as Buffer);
  return gathered.take();
}

const lineEnd = 0x0a;

/** The lines of a watch. A last line without an end was cut off, and is ignored. */
async function* linesOf(response: IncomingMessage): AsyncGenerator {
  const gathered = new Gathered();
  for await (const chunk of response as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(lineEnd); end >= 0; end = chunk.indexOf(lineEnd, from)) {
      gathered.add(chunk.subarray(from, end));
      yield parse(gathered.take());
      from = end + 1;
    }
    gathered.add(chunk.subarray(from));
  }
}

/** Pieces of one answer or of one line, up to `mostBytes`. */
class Gathered {
  #pieces: Buffer[] = [];
  #length = 0;

  add(piece: Buffer): void {
    this.#length += piece.length;
    if (this.#length > mostBytes) throw new OwnError("the answer is longer than 4 MiB");
    this.#pieces.push(piece);
  }

  take(): Buffer {
    const bytes = Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#length = 0;
    return bytes;
  }
}

/** The parser's own error would quote the text, which can be a Secret. */
function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    throw new OwnError("the answer is not JSON");
  }
}
