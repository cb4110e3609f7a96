/**
 * Fake guests: one small server that speaks the calls of a fleet for each of many clusters, by
 * their path, in HTTP/2 as API servers do, and ill where it is told to be. What a real API server
 * cannot be made to do, and a hundred of them on one machine.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { V1Secret } from "@kubernetes/client-node";
import { makeAuthority } from "../cluster/host/certificates.ts";

/**
 * `fails`: 500 with planted words; `hangs`: no answer; `endless`: one that never stops. `blind`:
 * well, but for its GlobalPullSecret, of which it answers 500. `floods`: events without end, each
 * of a new version. `bloats`: events of 1.9 MiB, two a second. `drips`: a byte of an answer twice a
 * second. `stutters`: well, but for its watches, which drip. `ends`: well, but for its watches,
 * which end at once. `forgets`: it answers well to what is written, tells of each change, and has
 * nothing.
 */
export type Manner =
  | "well"
  | "fails"
  | "hangs"
  | "endless"
  | "blind"
  | "floods"
  | "bloats"
  | "drips"
  | "stutters"
  | "ends"
  | "forgets";

/** In every answer of one that fails: no output may have it. */
export const planted = "planted-2f81";

type Pourer = Readonly<{ first?: string; next: () => string; every: number }>;

let version = 1000;
/** What is there, in a later version. */
function anew({ secret }: Guest): string {
  const metadata = { name: "pull-secret", ...secret?.metadata, resourceVersion: String(++version) };
  return JSON.stringify({ kind: "Secret", apiVersion: "v1", ...secret, metadata });
}
const flood = (guest: Guest): Pourer => ({
  next: () =>
    Array.from({ length: 500 }, () => `{"type":"MODIFIED","object":${anew(guest)}}\n`).join(""),
  every: 1,
});
const drip: Pourer = { next: () => " ", every: 500 };

/** 1.9 MiB that take long to read: a key for every 20 bytes. */
const fat = Array.from({ length: 99_000 }, (_, n) => `"k${n}":{"a":[]}`).join(",");
/** What is there, again and again, each time as large as may be. */
const bloat = (guest: Guest): Pourer => ({
  next: () => `{"type":"MODIFIED","fat":{${fat}},"object":${anew(guest)}}\n`,
  every: 500,
});

type Guest = { secret: V1Secret | undefined; version: number; watches: Set<Http2ServerResponse> };

export class FakeGuests implements AsyncDisposable {
  readonly #guests = new Map<string, Guest>();
  readonly #server: Http2SecureServer;
  readonly #ca: Buffer;
  readonly #endless = new Set<NodeJS.Timeout>();
  readonly #sessions = new Set<ServerHttp2Session>();
  /** Name → how it answers; the others are well. */
  readonly manners = new Map<string, Manner>();
  /** Pieces that were poured into watches and answers without end. */
  poured = 0;
  /** When each was asked, watches included; milliseconds since the epoch. */
  readonly requests = new Map<string, number[]>();

  private constructor(ca: Buffer, server: Http2SecureServer) {
    this.#ca = ca;
    this.#server = server;
    server.on("session", (session) => {
      this.#sessions.add(session);
      session.on("close", () => this.#sessions.delete(session));
    });
    server.on("request", (request, response) => void this.#answer(request, response));
  }

  static async start(directory: string): Promise<FakeGuests> {
    const authority = await makeAuthority(directory);
    await authority.sign("guests", "/CN=guests", ["127.0.0.1"]);
    const read = (file: string) => readFileSync(join(directory, file));
    const server = createSecureServer({ key: read("guests.key"), cert: read("guests.crt") });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new FakeGuests(read("ca.crt"), server);
  }

  /** A kubeconfig of data alone, with a token that nobody looks at. */
  kubeconfig(name: string): string {
    const { port } = this.#server.address() as AddressInfo;
    const server = `https://127.0.0.1:${port}/${name}`;
    const cluster = { server, "certificate-authority-data": this.#ca.toString("base64") };
    return JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name, cluster }],
      users: [{ name, user: { token: "fake" } }],
      contexts: [{ name, context: { cluster: name, user: name } }],
      "current-context": name,
    });
  }

  /** What was placed in that cluster. */
  secretOf(name: string): V1Secret | undefined {
    return this.#guests.get(name)?.secret;
  }

  /** From now on it answers so; what is open ends, as when a server ends. */
  become(name: string, manner: Manner): void {
    this.manners.set(name, manner);
    for (const watch of this.#guest(name).watches) watch.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#endless) clearInterval(timer);
    for (const session of this.#sessions) session.destroy();
    await this.#server[Symbol.asyncDispose]();
  }

  #guest(name: string): Guest {
    const known = this.#guests.get(name);
    const guest = known ?? { secret: undefined, version: 1, watches: new Set() };
    this.#guests.set(name, guest);
    return guest;
  }

  async #answer(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "https://guest");
    const [, name = ""] = url.pathname.split("/");
    this.requests.set(name, [...(this.requests.get(name) ?? []), Date.now()]);
    const manner = this.manners.get(name) ?? "well";
    const watches = url.searchParams.get("watch") === "true";
    switch (manner) {
      case "hangs":
        return;
      case "fails":
        return tell(response, 500, { kind: "Status", reason: "InternalError", message: planted });
      case "endless":
        return this.#goOn(response);
      case "blind":
        if (url.pathname.includes("/globalpullsecrets"))
          return tell(response, 500, { kind: "Status", reason: "InternalError", message: planted });
        return await this.#serve(this.#guest(name), request, response, url);
      case "drips":
        return this.#pour(response, drip);
      case "floods":
        if (watches) return this.#pour(response, flood(this.#guest(name)));
        return await this.#serve(this.#guest(name), request, response, url);
      case "bloats":
        if (watches) return this.#pour(response, bloat(this.#guest(name)));
        return await this.#serve(this.#guest(name), request, response, url);
      case "stutters":
        if (watches) return this.#pour(response, drip);
        return await this.#serve(this.#guest(name), request, response, url);
      case "ends":
        if (watches) return tell(response, 200, {});
        return await this.#serve(this.#guest(name), request, response, url);
      case "forgets":
        await this.#serve(this.#guest(name), request, response, url);
        this.#forget(this.#guest(name));
        return;
      case "well":
        return await this.#serve(this.#guest(name), request, response, url);
    }
  }

  #forget(guest: Guest): void {
    if (guest.secret === undefined) return;
    guest.version = ++version;
    const metadata = { ...guest.secret.metadata, resourceVersion: String(guest.version) };
    const event = JSON.stringify({ type: "DELETED", object: { ...guest.secret, metadata } });
    guest.secret = undefined;
    for (const watch of guest.watches) watch.write(`${event}\n`);
  }

  #goOn(response: Http2ServerResponse): void {
    this.#pour(response, { first: "[", next: () => `"${planted}",`.repeat(10_000), every: 20 });
  }

  /** As much as the other side takes, and no more: what it leaves waits there. */
  #pour(response: Http2ServerResponse, { first = "", next, every }: Pourer): void {
    response.writeHead(200, { "Content-Type": "application/json" }).write(first);
    const timer = setInterval(() => {
      if (response.stream.writableNeedDrain) return;
      this.poured += 1;
      response.write(next());
    }, every);
    this.#endless.add(timer);
    response.on("close", () => {
      clearInterval(timer);
      this.#endless.delete(timer);
    });
  }

  async #serve(
    guest: Guest,
    request: Http2ServerRequest,
    response: Http2ServerResponse,
    { searchParams }: URL,
  ): Promise<void> {
    if (searchParams.get("watch") === "true") {
      response.writeHead(200, { "Content-Type": "application/json" });
      guest.watches.add(response);
      response.on("close", () => guest.watches.delete(response));
      return;
    }
    if (request.method === "GET") {
      const metadata = { resourceVersion: String(guest.version) };
      const items = guest.secret === undefined ? [] : [guest.secret];
      return tell(response, 200, { kind: "SecretList", apiVersion: "v1", metadata, items });
    }
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += String(chunk);
    guest.version = ++version;
    const resourceVersion = String(guest.version);
    const gone = request.method === "DELETE";
    const body = (gone ? guest.secret : JSON.parse(text)) as V1Secret;
    const metadata = { ...body.metadata, resourceVersion, uid: "fake" };
    const secret = { ...body, kind: "Secret", apiVersion: "v1", metadata };
    guest.secret = gone ? undefined : secret;
    const event = JSON.stringify({ type: gone ? "DELETED" : "MODIFIED", object: secret });
    for (const watch of guest.watches) watch.write(`${event}\n`);
    tell(response, 200, secret);
  }
}

function tell(response: Http2ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}
