/**
 * Fake API server: the answers of a broken, slow or hostile server. You cannot make a real server
 * send such answers.
 */
import type { Http2ServerResponse } from "node:http2";
import type { ApiRequest, FakeApi } from "./api.ts";
import { addressOf, picksOf } from "./protocol.ts";

export type Call = Readonly<{
  api: FakeApi;
  request: ApiRequest;
  watches: boolean;
  response: Http2ServerResponse;
  /** Answers as a healthy server does. */
  serve: () => void;
  /** Answers without end. */
  pour: (pourer: Pourer) => void;
}>;

/**
 * An answer without end. It begins with `first`, and continues every `every` milliseconds with the
 * text that `next` returns.
 */
export type Pourer = Readonly<{ first?: string; next: () => string; every: number }>;

/** Part of every answer of a server that fails; our programs must never print it. */
export const planted = "planted-2f81";

const fail = ({ response }: Call): void => {
  const body = { kind: "Status", reason: "InternalError", message: planted };
  response.writeHead(500, { "Content-Type": "application/json" }).end(JSON.stringify(body));
};

/** The watched object in a new version, which is later than every written version. */
function renewed({ api, request: { path, query } }: Call): string {
  const address = addressOf(path, api.store.resources);
  const [object] = api.store.list(address, picksOf(new URLSearchParams(query))).items;
  const { kind, apiVersion } = address.resource;
  const metadata = { name: "pull-secret", ...object?.metadata, resourceVersion: api.store.spent() };
  return JSON.stringify({ kind, apiVersion, ...object, metadata });
}

/** Endless events, sent five hundred at a time. */
const flood = (call: Call): Pourer => ({
  next: () =>
    Array.from({ length: 500 }, () => `{"type":"MODIFIED","object":${renewed(call)}}\n`).join(""),
  every: 1,
});

/**
 * 1.8 MiB of JSON that takes long to parse, because it contains nearly as many values as the
 * fleet's controller accepts.
 */
const fat = Array.from({ length: 33_000 }, (_, n) => `"k${"-".repeat(40)}${n}":{"a":[]}`).join(",");
const bloat = (call: Call): Pourer => ({
  next: () => `{"type":"MODIFIED","fat":{${fat}},"object":${renewed(call)}}\n`,
  every: 500,
});

/** Answers each request for policies or Secrets with 1 MiB that needs 21 MiB when it is parsed. */
const swell = ({ request: { path }, response, serve }: Call): void => {
  if (path === "/readyz") response.writeHead(200).end("ok");
  else if (/\/(validatingadmissionpolic|secrets)/.test(path))
    response.writeHead(200).end(`{"spec":[${"{},".repeat(349_000)}0]}`);
  else serve();
};

const drip: Pourer = { next: () => " ", every: 500 };
const endless: Pourer = { first: "[", next: () => `"${planted}",`.repeat(10_000), every: 20 };

/** Answers watches in this way, and everything else as a healthy server does. */
const watching =
  (manner: (call: Call) => void) =>
  (call: Call): void =>
    call.watches ? manner(call) : call.serve();

export type Manner = keyof typeof manners;

export const manners = {
  well: ({ serve }: Call) => serve(),
  /** Answers ok to /readyz, and everything else as a healthy server does. */
  ready: ({ request: { path }, response, serve }: Call) =>
    path === "/readyz" ? void response.writeHead(200).end("ok") : serve(),
  /** Answers 500 with planted words. */
  fails: fail,
  hangs: () => {},
  /** Answers every request without end. */
  endless: ({ pour }: Call) => pour(endless),
  /** Answers 500 for GlobalPullSecrets, and everything else as a healthy server does. */
  blind: (call: Call) =>
    call.request.path.includes("/globalpullsecrets") ? fail(call) : call.serve(),
  /** Watches send events without end, each of a new version. */
  floods: watching((call) => call.pour(flood(call))),
  /** Watches send events of 1.8 MiB, two a second. */
  bloats: watching((call) => call.pour(bloat(call))),
  /** A healthy server whose policies and Secrets take much memory when they are parsed. */
  swells: swell,
  /** Sends one byte every half second, without end. */
  drips: ({ pour }: Call) => pour(drip),
  /** Sends one byte of each watch every half second, without end. */
  stutters: watching(({ pour }) => pour(drip)),
  ends: watching(({ response }) => void response.writeHead(200).end("{}")),
  /** Accepts writes, reports each change, and stores nothing. */
  forgets: ({ api, serve }: Call) => {
    serve();
    api.store.clear();
  },
} as const satisfies Record<string, (call: Call) => void>;
