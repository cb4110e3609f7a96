/**
 * A scripted API server for one agent: HTTPS on a port of its own, with the three objects that an
 * agent uses. It checks the token, the agent's rights and the form of a status, and counts
 * versions, as a real API server does.
 *
 * ```ts
 * const api = await scriptedApi(t, { node: "node1" });
 * api.secret({ revision: "7" });
 * api.order({ revision: 7, digest: "abc", attempt: 1 });
 * // Start an agent with api.host, api.port and api.credentials.
 * await inTime(() => api.reports.length > 0);
 * ```
 */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { globalSecretName, namespace } from "#contract/names.ts";
import { type Order, readReport, type Report } from "#contract/order.ts";
import { temporary } from "#test/temporary.ts";
import { makeCertificate } from "../api/certificate.ts";
import { ScriptedObject } from "./api-object.ts";

const kinds = ["list", "watch", "patch", "lease"] as const;
type RequestKind = (typeof kinds)[number];

/** A request that was authenticated and allowed. */
type SeenRequest = Readonly<{
  kind: RequestKind;
  object: "secret" | "own" | "lease";
  query: URLSearchParams;
  host: string;
  userAgent: string | undefined;
}>;

/**
 * How requests fail. `closed`: the connection ends without an answer. `lost`: the same, but a patch
 * is executed. `held`: a patch is executed, and answered by `heal`. `silent`: no answer comes.
 * `begun`: an answer begins, and never ends. `body`: an answer with status 200 and this body.
 */
export type Failure =
  | "closed"
  | "lost"
  | "held"
  | "silent"
  | "begun"
  | Readonly<{ status: number; retryAfter?: number }>
  | Readonly<{ body: string }>;

type Options = Readonly<{
  node: string;
  /** The address to listen on: ::1, or an IPv4 address. */
  host?: string;
}>;

type Cleanup = Readonly<{ after: (end: () => void) => void }>;

const secretPath = `/api/v1/namespaces/${namespace}/secrets`;
const ownPath = `/apis/globalpullsecret.io/v1alpha1/namespaces/${namespace}/nodepullsecrets`;
const leasePath = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

export type ScriptedApi = Awaited<ReturnType<typeof scriptedApi>>;

/** Starts the server. It ends with the test. No object exists yet. */
export async function scriptedApi(t: Cleanup, { node, host = "127.0.0.1" }: Options) {
  const { key, certificate } = makeCertificate(...(host === "::1" ? [] : [host]));
  const credentials = temporary(t);
  const clock = { version: 100 };
  const secret = new ScriptedObject(globalSecretName, clock);
  const own = new ScriptedObject(node, clock);
  const requests: SeenRequest[] = [];
  const reports: Report[] = [];
  const failures = new Map<RequestKind, Failure>();
  const connections = new Set<Duplex>();
  const held: (() => void)[] = [];
  let token = "token-1";
  let renewTime: string | undefined;
  /** Milliseconds by which the server's clock is ahead of this process. */
  let ahead = 0;

  const server = createServer({ key, cert: certificate }, (request, response) => {
    response.setHeader("date", new Date(Date.now() + ahead).toUTCString());
    void bodyOf(request).then((body) => answer(request, body, response));
  });
  server.on("connection", (connection: Duplex) => {
    connections.add(connection);
    connection.on("close", () => connections.delete(connection));
  });
  server.listen(0, host);
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  writeFileSync(join(credentials, "ca.crt"), certificate);
  writeFileSync(join(credentials, "token"), `${token}\n`);

  function answer(request: IncomingMessage, body: string, response: ServerResponse): void {
    const url = new URL(request.url ?? "/", "https://api");
    if (request.headers.authorization !== `Bearer ${token}`) return refuse(response, 401);
    const seen = seenRequest(request, url);
    if (seen === undefined) return refuse(response, 403);
    requests.push(seen);
    const failure = failures.get(seen.kind);
    const isExecuted = failure === "lost" || failure === "held";
    if (isExecuted && seen.kind === "patch") return patch(request, body, response, failure);
    if (failure !== undefined) return fail(response, failure);
    if (seen.kind === "patch") return patch(request, body, response);
    if (seen.kind === "lease")
      return renewTime === undefined
        ? refuse(response, 404)
        : send(response, { spec: { renewTime } });
    const object = seen.object === "secret" ? secret : own;
    if (seen.kind === "list") return send(response, object.list());
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    object.watch(seen.query, response);
  }

  /** Undefined if an agent has no right to do this. */
  function seenRequest(
    { method, headers }: IncomingMessage,
    { pathname, searchParams: query }: URL,
  ) {
    const object = { [secretPath]: "secret", [ownPath]: "own" }[pathname] as "secret" | "own";
    const name = object === "secret" ? globalSecretName : node;
    const kind: RequestKind = query.has("watch") ? "watch" : "list";
    const isNamed = query.get("fieldSelector") === `metadata.name=${name}`;
    const { host = "", "user-agent": userAgent } = headers;
    const seen = { query, host, userAgent };
    if (method === "GET" && object !== undefined && isNamed) return { kind, object, ...seen };
    if (method === "GET" && pathname === `${leasePath}/${node}`)
      return { kind: "lease", object: "lease", ...seen } as const;
    if (method === "PATCH" && pathname === `${ownPath}/${node}/status`)
      return { kind: "patch", object: "own", ...seen } as const;
    return undefined;
  }

  function patch(
    request: IncomingMessage,
    body: string,
    response: ServerResponse,
    failure?: "lost" | "held",
  ): void {
    if (request.headers["content-type"] !== "application/merge-patch+json")
      return refuse(response, 415);
    if (own.present === undefined) return refuse(response, 404);
    const { status, ...others } = JSON.parse(body) as { status?: { message?: string } };
    const report = readReport(status);
    if (report === undefined || /\p{Cc}/u.test(report.message + report.version))
      return refuse(response, 422);
    if (Object.keys(others).length > 0) return refuse(response, 422);
    own.set({ spec: own.present["spec"], status });
    reports.push(report);
    const answer = own.present;
    if (failure === "held") held.push(() => send(response, answer));
    else if (failure === "lost") response.destroy();
    else send(response, answer);
  }

  return {
    host,
    port: (server.address() as AddressInfo).port,
    /** The directory with `token` and `ca.crt`. */
    credentials,
    /** All requests that an agent may make, failed ones included. */
    requests: requests as readonly SeenRequest[],
    /** The reports that were accepted. */
    reports: reports as readonly Report[],
    /** The number of open connections. */
    connections: () => connections.size,
    /** The number of open watches. */
    watched: () => secret.watched + own.watched,
    /** The version of the last change. */
    version: () => clock.version,
    /** Sets the values of the Secret, as plain text, or deletes it. */
    secret(data: Readonly<Record<string, string | Buffer>> | undefined): void {
      const encode = (value: string | Buffer) => Buffer.from(value).toString("base64");
      const entries = Object.entries(data ?? {}).map(([name, value]) => [name, encode(value)]);
      secret.set(data && { data: Object.fromEntries(entries) });
    },
    /** Creates the node's object, or changes its order. Undefined: nothing was asked yet. */
    order(order: Order = { revision: 0, digest: "", attempt: 0 }): void {
      own.set({ spec: order, status: own.present?.["status"] });
    },
    /** Sets the status of the node's object, as another client would. */
    status(status: object): void {
      own.set({ spec: own.present?.["spec"], status });
    },
    /** Deletes the node's object. The next order creates one with another uid. */
    remove: () => own.set(undefined),
    /** Sets the renewTime of the node's Lease, in RFC 3339. Undefined: there is no Lease. */
    lease(time: string | undefined): void {
      renewTime = time;
    },
    /** Sets the server's clock ahead. */
    setAhead(milliseconds: number): void {
      ahead = milliseconds;
    },
    /** Lets these kinds of requests fail until `heal`. Watches that are open continue. */
    fail(failure: Failure, which: readonly RequestKind[] = kinds): void {
      for (const kind of which) failures.set(kind, failure);
    },
    heal(): void {
      failures.clear();
      for (const send of held.splice(0)) send();
    },
    /** Ends all watches in the usual way. */
    endWatches(): void {
      for (const object of [secret, own]) object.endWatches();
    },
    /** Breaks all connections, as if the server was killed. */
    disconnect(): void {
      for (const connection of connections) connection.destroy();
    },
    /** Forgets all former versions, so that a watch can begin only at a later one. */
    compact(): void {
      for (const object of [secret, own]) object.compact();
    },
    /** Sets the versions back, as a restore of etcd does. The objects stay otherwise. */
    rewind(): void {
      clock.version = 50;
      for (const object of [secret, own]) object.rewind();
    },
    /** Sends a bookmark to all watches. */
    bookmark(): void {
      clock.version += 1;
      for (const object of [secret, own]) object.bookmark();
    },
    /** Sends these bytes to the watches of that object. */
    write(object: "secret" | "own", text: string | Buffer): void {
      (object === "secret" ? secret : own).write(text);
    },
    /** Accepts only this token from now on. The agent's file is left as it is. */
    accept(other: string): void {
      token = other;
    },
    /** Replaces the agent's token file, as the kubelet does. */
    writeToken: (text: string) => writeFileSync(join(credentials, "token"), text),
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
}

function send(response: ServerResponse, answer: object | undefined, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(answer));
}

function refuse(response: ServerResponse, code: number, retryAfter?: number): void {
  if (retryAfter !== undefined) response.setHeader("retry-after", String(retryAfter));
  send(response, { kind: "Status", code, message: "server-text" }, code);
}

function fail(response: ServerResponse, failure: Failure): void {
  if (failure === "silent") return;
  if (failure === "begun") return void response.write("{");
  if (typeof failure === "string") response.destroy();
  else if ("body" in failure) response.end(failure.body);
  else refuse(response, failure.status, failure.retryAfter);
}
