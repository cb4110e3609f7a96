/**
 * One cluster, reached as one identity. Plain JSON over @kubernetes/client-node's connection and
 * credentials: its typed API rebuilds every object and drops the fields that it does not know.
 */
import {
  HttpMethod,
  IsomorphicFetchHttpLibrary,
  KubeConfig,
  RequestContext,
} from "@kubernetes/client-node";
import { ApiError, problemOf } from "./api-error.ts";
import { fieldManager } from "./ownership.ts";

/**
 * What is asked of a cluster. Paths are the API's own, from `/api/v1/…`. Every method rejects with
 * ApiError.
 */
export interface Cluster {
  /** Where this is, for the log. */
  readonly identity: string;
  /** The object, or undefined when there is none. */
  get<T>(path: string, options?: Reading): Promise<T | undefined>;
  /**
   * Calls `each` with one page of at most 500 items after the other, so that no list is ever held
   * whole. As rows: what kubectl would print, a tenth of the objects.
   */
  pages<T>(
    path: string,
    query: Query,
    each: (items: readonly T[]) => void,
    as?: "rows",
  ): Promise<void>;
  /**
   * Server-side apply of exactly the fields in `body`. A 409 means that someone else was there
   * first: look again.
   */
  apply<T>(path: string, body: object, options: Apply): Promise<T>;
  create(path: string, body: object): Promise<void>;
  /** Puts `body` in the place of the object whose resourceVersion it carries. */
  replace<T>(path: string, body: object, options?: DryRun): Promise<T>;
  /**
   * Deletes the very object of that uid, in that version when one is given. One that is gone is no
   * error; one that was replaced or changed meanwhile is left alone, with a 409: look again.
   */
  remove(path: string, uid: string, resourceVersion?: string): Promise<void>;
  /** Lines of a list-then-watch request, until the server ends it. */
  stream(
    path: string,
    query: Query,
    signal: AbortSignal,
    line: (line: string) => void,
  ): Promise<void>;
}

/**
 * resourceVersion of an apply that may only create. No object ever has this version, so that one
 * that is there already gives a 409, also when this program made it: to the same manager an apply
 * without force is no conflict.
 */
export const newborn = "1";

/** A row has 200 bytes, so that 5,000 of them fit one answer. */
const table = "application/json;as=Table;v=v1;g=meta.k8s.io";
/** What a Secret is read as where nobody needs its content. */
const metadata = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";

type Types = Readonly<{ type?: string; accept?: string }>;
type Query = Readonly<Record<string, string>>;
/** Seconds that the answer may take, where it must not take as long as any. */
type Patience = Readonly<{ seconds?: number }>;
/** As metadata: the object without spec, status and data, as PartialObjectMetadata. */
type Reading = Patience & Readonly<{ as?: "metadata" }>;
/** The answer is what the request would make; nothing is written. */
type DryRun = Readonly<{ dryRun?: boolean }>;
type Apply = DryRun & Patience & Readonly<{ manager: string; force: boolean }>;

/**
 * One request may last this long; a watch may be silent this long (the server sends a bookmark
 * about once a minute).
 */
const requestSeconds = 30;
const silenceSeconds = 90;

/** No answer that we ask for is larger, in bytes: a page of 500 pods of 20 kB is 10 MB. */
const largestAnswer = 32 * 1024 * 1024;

/**
 * How long connections, and the CA and client certificate behind them, are kept before they are
 * read again.
 */
const connectionSeconds = 60;

/**
 * The kubeconfig in `file`; without one KUBECONFIG's, or the pod's own account. Throws where it
 * cannot be read, or has no such context.
 */
export function loadKubeConfig(file: string | undefined, context?: string): KubeConfig {
  const config = new KubeConfig();
  if (file === undefined) config.loadFromDefault();
  else config.loadFromFile(file);
  if (context === undefined) return config;
  if (config.getContextObject(context) === null)
    throw new Error(`the kubeconfig has no context ${JSON.stringify(context)}`);
  config.setCurrentContext(context);
  return config;
}

/** Who asks, where it is not the controller. */
type Connection = Readonly<{
  /** Field manager of creations and replacements, and the name that the audit log shows. */
  manager?: string;
  /** Impersonated: the requests are made in this user's name and rights. */
  as?: string | undefined;
  /** Seconds that one answer may take; watches last. */
  seconds?: number;
  /** Bytes that one answer, or a line of a watch, may have. */
  largest?: number;
}>;

/** `asked` is told of every request and its outcome, for the metrics. */
export function connect(
  config: KubeConfig,
  asked: (method: string, status: number) => void,
  {
    manager = fieldManager,
    as,
    seconds: patience = requestSeconds,
    largest = largestAnswer,
  }: Connection = {},
): Cluster {
  const server = config.getCurrentCluster()?.server;
  if (server === undefined) throw new Error("the kubeconfig names no cluster: set current-context");
  const http = new IsomorphicFetchHttpLibrary();
  let connections: { pool: ReturnType<RequestContext["getDispatcher"]>; until: number } | undefined;

  async function send(
    method: HttpMethod,
    path: string,
    query: Query,
    signal: AbortSignal,
    body?: object,
    { type, accept = "application/json" }: Types = {},
  ) {
    const url = new URL(server + path);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const context = new RequestContext(url.toString(), method);
    await config.applySecurityAuthentication(context);
    if (connections === undefined || connections.until < Date.now()) {
      // The client makes a pool per request, that is a TLS handshake per request. Closing lets
      // running requests finish.
      void connections?.pool?.close();
      const pool = context.getDispatcher()?.compose(only(url.origin));
      connections = { pool, until: Date.now() + connectionSeconds * 1000 };
    }
    if (connections.pool !== undefined) context.setDispatcher(connections.pool);
    context.setHeaderParam("User-Agent", manager);
    if (as !== undefined) context.setHeaderParam("Impersonate-User", as);
    context.setHeaderParam("Accept", accept);
    if (body !== undefined) {
      context.setHeaderParam("Content-Type", type ?? "application/json");
      context.setBody(JSON.stringify(body));
    }
    context.setSignal(signal);
    try {
      const response = await http.send(context).toPromise();
      asked(query["watch"] === "true" ? "WATCH" : method, response.httpStatusCode);
      return response;
    } catch (error) {
      asked(query["watch"] === "true" ? "WATCH" : method, 0);
      // A connection that hangs would make the next request hang, too: the next one gets a new
      // pool.
      if (connections !== undefined) connections.until = 0;
      throw new ApiError({
        status: 0,
        reason: "Unreachable",
        method,
        path,
        detail: problemOf(error),
      });
    }
  }

  async function request<T>(
    method: HttpMethod,
    path: string,
    query: Query,
    body?: object,
    { seconds = patience, ...types }: Types & Patience = {},
  ): Promise<T> {
    const signal = AbortSignal.timeout(seconds * 1000);
    const response = await send(method, path, query, signal, body, types);
    const chunks: Uint8Array[] = [];
    let size = 0;
    try {
      for await (const chunk of response.body.stream() ?? []) {
        size += chunk.length;
        if (size > largest) throw new Error(`the answer is larger than ${largest} bytes`);
        chunks.push(chunk);
      }
    } catch (error) {
      throw new ApiError({
        status: 0,
        reason: "Unreachable",
        method,
        path,
        detail: problemOf(error),
      });
    }
    const text = Buffer.concat(chunks).toString("utf8");
    if (response.httpStatusCode >= 300) throw ApiError.from(method, path, response, text);
    try {
      return JSON.parse(text) as T;
    } catch (error) {
      const detail = problemOf(error);
      throw new ApiError({ status: 0, reason: "Unreachable", method, path, detail });
    }
  }

  return {
    identity: server,
    async get<T>(path: string, { as, ...how }: Reading = {}): Promise<T | undefined> {
      const accept = as === "metadata" ? { accept: metadata } : {};
      try {
        return await request<T>(HttpMethod.GET, path, {}, undefined, { ...how, ...accept });
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return undefined;
        throw error;
      }
    },
    async pages(path, query, each, as) {
      let next: string | undefined = "";
      const how = as === "rows" ? { includeObject: "None", limit: "5000" } : { limit: "500" };
      const accept = as === "rows" ? { accept: table } : {};
      while (next !== undefined) {
        const page: Page = await request(
          HttpMethod.GET,
          path,
          { ...query, ...how, continue: next },
          undefined,
          accept,
        );
        each((as === "rows" ? (page.rows ?? []) : page.items) as never[]);
        next = page.metadata?.continue || undefined;
      }
    },
    async apply(path, body, { manager, force, dryRun, seconds }) {
      const query = { fieldManager: manager, force: String(force), ...dry(dryRun) };
      const type = "application/apply-patch+yaml";
      return request(
        HttpMethod.PATCH,
        path,
        query,
        body,
        seconds === undefined ? { type } : { type, seconds },
      );
    },
    async create(path, body) {
      await request(HttpMethod.POST, path, { fieldManager: manager }, body);
    },
    async replace(path, body, options) {
      const query = { fieldManager: manager, ...dry(options?.dryRun) };
      return request(HttpMethod.PUT, path, query, body);
    },
    async remove(path, uid, resourceVersion) {
      const options = { propagationPolicy: "Background", preconditions: { uid, resourceVersion } };
      try {
        await request(HttpMethod.DELETE, path, {}, options);
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return;
        throw error;
      }
    },
    async stream(path, query, signal, line) {
      const silence = new AbortController();
      let timer: NodeJS.Timeout | undefined;
      const heard = () => {
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), silenceSeconds * 1000);
      };
      heard();
      try {
        const either = AbortSignal.any([signal, silence.signal]);
        const response = await send(HttpMethod.GET, path, { ...query, watch: "true" }, either);
        if (response.httpStatusCode !== 200)
          throw ApiError.from(
            "GET",
            path,
            response,
            (await response.body.text()).slice(0, largestAnswer),
          );
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
        if (error instanceof ApiError) throw error;
        throw new ApiError({
          status: 0,
          reason: "Unreachable",
          method: "WATCH",
          path,
          detail: problemOf(error),
        });
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

type Pool = NonNullable<ReturnType<RequestContext["getDispatcher"]>>;

/**
 * Redirects are followed within the server alone: one that a tenant runs could else have us ask
 * what only we can reach, and hand on there what we meant to write.
 */
const only =
  (origin: string) =>
  (dispatch: Pool["dispatch"]): Pool["dispatch"] =>
  (options, handler) => {
    if (String(options.origin) !== origin) throw new Error("redirected to another server");
    return dispatch(options, handler);
  };

const dry = (wanted = false): Query => (wanted ? { dryRun: "All" } : {});

type Page = { items: unknown[]; rows?: unknown[]; metadata?: { continue?: string } };
