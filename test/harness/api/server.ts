/**
 * Fake API servers: one process that serves many clusters, each below a path of its own, in HTTP/2
 * over TLS as API servers do. api.ts makes the answers; this file sends them over the wire.
 */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { FakeApi, type Answer, type ApiRequest } from "./api.ts";
import { makeCertificate } from "./certificate.ts";
import { manners, type Manner, type Pourer } from "./manners.ts";

/** Milliseconds between two bookmarks, which show only that a watch is alive. */
const bookmarkEvery = 60_000;

const json = { "Content-Type": "application/json" };

type Served = {
  readonly api: FakeApi;
  manner: Manner;
  readonly watches: Set<Http2ServerResponse>;
  /** The times of the cluster's requests, watches included, in milliseconds since the epoch. */
  readonly requests: number[];
};

export class FakeServer implements AsyncDisposable {
  readonly #clusters = new Map<string, Served>();
  readonly #server: Http2SecureServer;
  readonly #certificate: string;
  readonly #definitions: readonly string[];
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #sessions = new Set<ServerHttp2Session>();
  /** How many pieces of endless answers the server has sent. */
  poured = 0;

  private constructor(
    certificate: string,
    server: Http2SecureServer,
    definitions: readonly string[],
  ) {
    this.#definitions = definitions;
    this.#certificate = certificate;
    this.#server = server;
    server.on("session", (session) => {
      this.#sessions.add(session);
      session.on("close", () => this.#sessions.delete(session));
    });
    server.on("request", (request, response) => {
      // A client that leaves before its request is complete gets no answer.
      void textOf(request).then(
        (text) => this.#answer(request, text, response),
        () => {},
      );
    });
  }

  /** Opens a port on 127.0.0.1. Each cluster has these CustomResourceDefinitions, in YAML. */
  static async start(...definitions: readonly string[]): Promise<FakeServer> {
    const { key, certificate } = makeCertificate();
    // The agents' client speaks HTTP/1.1.
    const server = createSecureServer({ key, cert: certificate, allowHTTP1: true });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new FakeServer(certificate, server, definitions);
  }

  /** A kubeconfig that names no files. The server does not check its token. */
  kubeconfig(name: string): string {
    const { port } = this.#server.address() as AddressInfo;
    const server = `https://127.0.0.1:${port}/${name}`;
    const authority = Buffer.from(this.#certificate).toString("base64");
    const cluster = { server, "certificate-authority-data": authority };
    return JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name, cluster }],
      users: [{ name, user: { token: "fake" } }],
      contexts: [{ name, context: { cluster: name, user: name } }],
      "current-context": name,
    });
  }

  /** The API of that cluster; the first call for a name creates it. */
  api(name: string): FakeApi {
    return this.#cluster(name).api;
  }

  /** The times of that cluster's requests since `forget`, in milliseconds since the epoch. */
  requests(name: string): readonly number[] {
    return this.#cluster(name).requests;
  }

  /** The number of open connections of all clusters. */
  get connections(): number {
    return this.#sessions.size;
  }

  forget(): void {
    for (const { requests } of this.#clusters.values()) requests.length = 0;
  }

  /** Sets how that cluster answers from now on, and ends its watches, like a server that stops. */
  become(name: string, manner: Manner): void {
    const cluster = this.#cluster(name);
    cluster.manner = manner;
    for (const watch of cluster.watches) watch.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    for (const session of this.#sessions) session.destroy();
    await this.#server[Symbol.asyncDispose]();
  }

  #cluster(name: string): Served {
    const existingCluster = this.#clusters.get(name);
    if (existingCluster !== undefined) return existingCluster;
    const api = new FakeApi();
    for (const definition of this.#definitions) api.store.define(definition);
    const cluster: Served = { api, manner: "well", watches: new Set(), requests: [] };
    this.#clusters.set(name, cluster);
    return cluster;
  }

  #answer(incoming: Http2ServerRequest, text: string, response: Http2ServerResponse): void {
    const { pathname, searchParams } = new URL(incoming.url, "https://fake");
    const [, name, path = "/"] = /^(?:\/(?!apis?\/)([^/]*))?(\/.*)?$/.exec(pathname) ?? [];
    // An agent knows only a host and a port, so paths without a name belong to the first cluster.
    const cluster = this.#cluster(name ?? this.#clusters.keys().next().value ?? "");
    cluster.requests.push(Date.now());
    const query = Object.fromEntries(searchParams);
    const request: ApiRequest = {
      method: incoming.method,
      path,
      query,
      body: text === "" ? undefined : (JSON.parse(text) as object),
      accept: incoming.headers.accept,
      type: incoming.headers["content-type"],
      userAgent: incoming.headers["user-agent"] ?? "",
    };
    manners[cluster.manner]({
      api: cluster.api,
      request,
      watches: query["watch"] === "true",
      response,
      serve: () => this.#send(cluster, request, response),
      pour: (pourer) => this.#pour(response, pourer),
    });
  }

  #send(cluster: Served, request: ApiRequest, response: Http2ServerResponse): void {
    const answer = cluster.api.answer(request);
    if ("follow" in answer) this.#stream(cluster, answer.follow, request, response);
    else
      response
        .writeHead(answer.status, { ...json, ...answer.headers })
        .end(JSON.stringify(answer.body));
  }

  #stream(
    { api, watches }: Served,
    follow: Extract<Answer, { follow: unknown }>["follow"],
    { query = {} }: ApiRequest,
    response: Http2ServerResponse,
  ): void {
    response.writeHead(200, json);
    // Over HTTP/1.1, the head would otherwise wait for the first event.
    (response as unknown as ServerResponse).flushHeaders();
    watches.add(response);
    const end = follow((line) => void response.write(line));
    const bookmark = setInterval(() => {
      const metadata = { resourceVersion: api.store.version };
      response.write(`${JSON.stringify({ type: "BOOKMARK", object: { metadata } })}\n`);
    }, bookmarkEvery);
    const seconds = Number(query["timeoutSeconds"]) || 1800;
    const timer = setTimeout(() => response.end(), seconds * 1000);
    this.#keep(response, bookmark, timer);
    response.on("close", () => {
      end();
      watches.delete(response);
    });
  }

  /** Sends only as much as the client reads, and keeps the rest. */
  #pour(response: Http2ServerResponse, { first = "", next, every }: Pourer): void {
    response.writeHead(200, json).write(first);
    const timer = setInterval(() => {
      if (response.stream.writableNeedDrain) return;
      this.poured += 1;
      response.write(next());
    }, every);
    this.#keep(response, timer);
  }

  /** Stops these timers when the answer or the server ends. */
  #keep(response: Http2ServerResponse, ...timers: readonly NodeJS.Timeout[]): void {
    for (const timer of timers) {
      this.#timers.add(timer);
      response.on("close", () => {
        clearTimeout(timer);
        this.#timers.delete(timer);
      });
    }
  }
}

async function textOf(request: Http2ServerRequest): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += String(chunk);
  return text;
}
