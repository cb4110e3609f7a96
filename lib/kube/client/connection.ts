/**
 * Requests to one API server. Connections are kept, answers are bounded, redirects stay on that
 * server, and every failure is an ApiError. @kubernetes/client-node provides the connection and its
 * credentials.
 */
import {
  HttpMethod,
  IsomorphicFetchHttpLibrary,
  KubeConfig,
  RequestContext,
  type ResponseContext,
} from "@kubernetes/client-node";
import { ApiError, NoCredential, unreachable } from "./api-error.ts";
import type { Timeouts, Query } from "./cluster.ts";
import { Gathered } from "./answer-bytes.ts";
import { fieldManager } from "./ownership.ts";
import { retried } from "./retry.ts";
import type { ServerClock } from "./server-clock.ts";

/** Seconds that one request may take. */
const requestSeconds = 30;

/** Bytes that one answer may have, unless its request allows fewer (pages.ts). */
const largestAnswer = 32 * 1024 * 1024;

/**
 * Seconds for which a connection is kept, with its CA and client certificate. After that, we read
 * the kubeconfig's files again, because they might have been renewed.
 */
const connectionSeconds = 60;

/** The name and the limits of the requests. Default: those of the controller. */
export type Asker = Readonly<{
  /** Field manager of creations and replacements, and the name that the audit log shows. */
  manager?: string;
  /** Seconds that one answer may take; watches have no such limit. */
  seconds?: number;
  /** Bytes that one answer, or a line of a watch, may have. */
  largest?: number;
  /**
   * How many values of JSON an answer may have, for untrusted servers. A parsed answer could take
   * 20 times as much memory as its text.
   */
  mostValues?: number;
  /**
   * True if the kubeconfig refers to no file, so there is nothing to read again. Connections are
   * then kept for as long as they work, and requests use the connection of the watch: a second
   * connection would cost a handshake and a hundred KiB.
   */
  fixed?: boolean;
  /** Learns the server's time from each answer. */
  clock?: ServerClock;
  /** Aborts when the program is about to end: then no read waits for another attempt. */
  stop?: AbortSignal | undefined;
}>;

/** One request, as it is sent. */
export type Request = Readonly<{
  method: HttpMethod;
  path: string;
  query?: Query;
  body?: object;
  /** The body contains no credential, so an error may quote it. */
  isPublic?: boolean | undefined;
  /** Content type of the body; JSON unless given. */
  type?: string;
  /** Content type of the answer; JSON unless given. */
  accept?: string;
  /** Returns the answer as text, without parsing it. */
  text?: true;
  /** Bytes that the answer may have, if less than the connection's limit. */
  largest?: number;
  /** Values of JSON that the answer may have, if the connection has no limit. */
  mostValues?: number | undefined;
}>;

/** Connection to one API server. Both calls reject with ApiError. */
export interface Connection {
  /** The server's address, for the log. */
  readonly server: string;
  readonly manager: string;
  readonly largest: number;
  readonly mostValues?: number | undefined;
  readonly stop?: AbortSignal | undefined;
  /** The status and headers of the answer. Its body is not read yet. */
  readonly send: (request: Request, signal: AbortSignal) => Promise<ResponseContext>;
  /**
   * The JSON of a whole answer. A status of 300 or more is an ApiError. Reads are repeated after a
   * 429 or 503.
   */
  readonly ask: <T>(request: Request, timeouts?: Timeouts) => Promise<T>;
}

/**
 * For JSON.stringify: replaces half of a surrogate pair, such as a cut leaves of an emoji. The API
 * server refuses a whole body with one.
 */
const wellFormed = (_key: string, value: unknown): unknown =>
  typeof value === "string" ? value.toWellFormed() : value;

/**
 * Prepares a connection; the first request opens it. `asked` is called with every request and its
 * outcome, for the metrics. Throws if the kubeconfig names no cluster.
 */
export function open(
  config: KubeConfig,
  asked: (method: string, status: number) => void,
  {
    manager = fieldManager,
    seconds = requestSeconds,
    largest = largestAnswer,
    mostValues,
    fixed = false,
    clock,
    stop,
  }: Asker,
): Connection {
  const server = config.getCurrentCluster()?.server;
  if (server === undefined) throw new Error("the kubeconfig names no cluster: set current-context");
  trustAnchors(config);
  const http = new IsomorphicFetchHttpLibrary();
  let connections: { pool: Pool | undefined; until: number } | undefined;

  async function contextOf({ method, path, query = {}, body, type, accept }: Request) {
    const url = new URL(server + path);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const context = new RequestContext(url.toString(), method);
    await authenticate(config, context);
    if (connections === undefined || connections.until < performance.now()) {
      // We keep one pool. The client library would make a pool for each request, and each pool
      // costs a TLS handshake. Requests that run in the old pool finish before the old pool closes.
      void connections?.pool?.close();
      const pool = context.getDispatcher()?.compose(only(url.origin));
      const until = fixed ? Number.POSITIVE_INFINITY : performance.now() + connectionSeconds * 1000;
      connections = { pool, until };
    }
    if (connections.pool !== undefined) context.setDispatcher(connections.pool);
    context.setHeaderParam("User-Agent", manager);
    context.setHeaderParam("Accept", accept ?? "application/json");
    if (body !== undefined) {
      context.setHeaderParam("Content-Type", type ?? "application/json");
      context.setBody(JSON.stringify(body, wellFormed));
    }
    return context;
  }

  async function send(request: Request, signal: AbortSignal): Promise<ResponseContext> {
    const method = request.query?.["watch"] === "true" ? "WATCH" : request.method;
    try {
      const context = await contextOf(request);
      context.setSignal(signal);
      const response = await http.send(context).toPromise();
      asked(method, response.httpStatusCode);
      clock?.received(response.headers["date"]);
      return response;
    } catch (error) {
      asked(method, 0);
      // Makes the next request use a new pool, because a request in the old pool would hang, too,
      // if the old connection hangs.
      if (connections !== undefined) connections.until = 0;
      throw unreachable(request.method, request.path, error);
    }
  }

  async function once<T>(request: Request, signal: AbortSignal): Promise<T> {
    const { method, path, isPublic } = request;
    const response = await send(request, signal);
    try {
      const values = request.mostValues ?? mostValues;
      const text = await bounded(response, request.largest ?? largest, values);
      if (response.httpStatusCode >= 300)
        throw ApiError.from(method, path, response, text, isPublic);
      return (request.text === true ? text : JSON.parse(text)) as T;
    } catch (error) {
      throw error instanceof ApiError ? error : unreachable(method, path, error);
    }
  }

  return {
    server,
    manager,
    largest,
    mostValues,
    stop,
    send,
    async ask<T>(request: Request, timeouts: Timeouts = {}): Promise<T> {
      const milliseconds = (timeouts.seconds ?? seconds) * 1000;
      const end = AbortSignal.timeout(milliseconds);
      const ask = () => once<T>(request, end);
      if (request.method !== HttpMethod.GET) return ask();
      return retried(ask, { milliseconds, signals: [end, stop, timeouts.signal] });
    },
  };
}

/**
 * Makes every certificate of the cluster's authority a trust anchor, as client-go does. By default,
 * OpenSSL accepts only a root certificate as trust anchor. But Kubernetes also allows an authority
 * that is only an intermediate certificate. With such an authority, Node.js before 20.18 refuses
 * every server, because it does not support `allowPartialTrustChain`.
 */
function trustAnchors(config: KubeConfig): void {
  config.createDispatcherOptions = (cluster, agent) => {
    const dispatcherOptions = KubeConfig.prototype.createDispatcherOptions.call(
      config,
      cluster,
      agent,
    );
    // Without an authority, our own pool uses the system's roots.
    if (dispatcherOptions.type === "none") return { type: "agent", connect: {} };
    const options =
      dispatcherOptions.type === "agent"
        ? dispatcherOptions.connect
        : "requestTls" in dispatcherOptions && dispatcherOptions.requestTls;
    if (options) options.allowPartialTrustChain = true;
    return dispatcherOptions;
  };
}

/** Puts the kubeconfig's credential into the request. */
async function authenticate(config: KubeConfig, context: RequestContext): Promise<void> {
  try {
    await config.applySecurityAuthentication(context);
  } catch (error) {
    const why = whyNone(error);
    throw why === undefined ? error : new NoCredential(why);
  }
}

/** Why the kubeconfig's command gave no credential. Undefined if that is not the reason. */
function whyNone(error: unknown): string | undefined {
  // The JSON parser's error quotes the output of the kubeconfig's command. The output might be a
  // credential with one wrong byte.
  if (error instanceof SyntaxError)
    return "the output of the kubeconfig's command is not a credential";
  const { code, syscall = "", path } = error as NodeJS.ErrnoException;
  if (code === "ENOENT" && syscall.startsWith("spawn"))
    return `the kubeconfig's credential plugin ${path} is not installed`;
  return undefined;
}

/** The whole answer as text. Throws as soon as it is larger than these limits. */
export async function bounded(
  response: ResponseContext,
  largest: number,
  mostValues?: number,
): Promise<string> {
  const answer = new Gathered("the answer", largest, mostValues);
  for await (const chunk of response.body.stream() ?? []) answer.add(chunk);
  return answer.take();
}

type Pool = NonNullable<ReturnType<RequestContext["getDispatcher"]>>;

/**
 * Follows redirects only to the same server. Without this rule, a server that a tenant runs could
 * make us send requests to addresses that only we can reach, and forward our writes to them.
 */
const only =
  (origin: string) =>
  (dispatch: Pool["dispatch"]): Pool["dispatch"] =>
  (options, handler) => {
    if (String(options.origin) !== origin) throw new Error("redirected to another server");
    return dispatch(options, handler);
  };
