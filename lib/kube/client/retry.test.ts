/** Reads from an API server that is too busy to answer each read. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { KubeConfig } from "@kubernetes/client-node";
import { ApiError } from "./api-error.ts";
import { connect } from "./client.ts";
import { backoff, retried } from "./retry.ts";
import type { Asker } from "./connection.ts";

test("doubles the pause up to a minute, and varies it at random", () => {
  assert.deepEqual(
    [1, 2, 3, 8, 30].map((failures) => backoff(failures, () => 0.5)),
    [500, 1000, 2000, 60_000, 60_000],
  );
  assert.equal(
    backoff(1, () => 0),
    250,
  );
  assert.equal(
    backoff(1, () => 1),
    750,
  );
});

type Answer = Readonly<{ status: number; after?: number }>;
const refusal = ({ status, after }: Answer) =>
  new ApiError({
    status,
    reason: "No",
    method: "GET",
    path: "/a",
    ...(after === undefined ? {} : { retryAfterSeconds: after }),
  });

/**
 * Makes a read that gets these answers in turn, for up to 30 s. Returns the result, and the pauses
 * in milliseconds.
 */
async function asked(...answers: readonly Answer[]) {
  const pauses: number[] = [];
  let at = 0;
  const read = async () => {
    const answer = answers[at++];
    assert.ok(answer, "asked too often");
    if (answer.status !== 200) throw refusal(answer);
    return "it";
  };
  const pause = async (milliseconds: number) => (pauses.push(milliseconds), true);
  const outcome = await retried(read, { milliseconds: 30_000, signals: [], pause }).catch(
    ({ status }: ApiError) => status,
  );
  assert.equal(at, answers.length, "asked too seldom");
  return { found: outcome, pauses };
}

const rows: readonly (readonly [sentence: string, found: unknown, answers: readonly Answer[]])[] = [
  [
    "is repeated after 429 and 503",
    "it",
    [{ status: 429, after: 1 }, { status: 503, after: 2 }, { status: 200 }],
  ],
  ["ends at a 429 that requests a wait beyond the limit", 429, [{ status: 429, after: 31 }]],
  ["ends at 500", 500, [{ status: 500 }]],
  ["ends at 403", 403, [{ status: 403, after: 1 }]],
  ["is not repeated if no answer came, because its time is already over", 0, [{ status: 0 }]],
];
for (const [sentence, expected, answers] of rows)
  test(`a read: ${sentence}`, async () => {
    const result = await asked(...answers);
    assert.equal(result.found, expected);
    const waits = answers.slice(0, -1).map(({ after = 0 }) => after * 1000);
    assert.deepEqual(result.pauses, waits);
  });

test("grows the pause while a server that requests one second stays busy", async (t) => {
  t.mock.method(Math, "random", () => 0.5);
  const busy = { status: 429, after: 1 };
  const { pauses } = await asked(busy, busy, busy, busy, { status: 200 });
  assert.deepEqual(pauses, [1000, 1000, 2000, 4000]);
});

test("waits for a growing, random time when the server requests no wait", async () => {
  const { pauses } = await asked({ status: 503 }, { status: 503 }, { status: 200 });
  for (const [at, pause] of pauses.entries()) {
    const base = 500 * 2 ** at;
    assert.ok(pause >= base / 2 && pause <= base * 1.5, `${at}: ${pause} ms`);
  }
});

test("rejects with the refusal, without a wait, as soon as the program stops", async () => {
  const stop = new AbortController();
  const read = async () => {
    stop.abort();
    throw refusal({ status: 429, after: 20 });
  };
  const ended = retried(read, { milliseconds: 30_000, signals: [undefined, stop.signal] });
  await assert.rejects(ended, ({ status }: ApiError) => status === 429);
});

async function serving(answer: RequestListener, how: Asker = {}) {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  const config = new KubeConfig();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const cluster = { name: "busy", server: url, skipTLSVerify: true };
  config.loadFromClusterAndUser(cluster, { name: "user" });
  const statuses: string[] = [];
  const api = connect(config, (method, status) => void statuses.push(`${method} ${status}`), how);
  const end = () => (server.closeAllConnections(), server.close());
  return { api, statuses, [Symbol.dispose]: end };
}

/**
 * Refuses every second request, and requests a wait that is shorter than the client's own pause.
 */
function everySecond(answer: (path: URL) => object): RequestListener {
  let count = 0;
  return (request, response) => {
    count += 1;
    if (count % 2 === 0) response.writeHead(429, { "retry-after": "0.01" }).end("{}");
    else response.end(JSON.stringify(answer(new URL(request.url ?? "", "http://busy"))));
  };
}

test("reads a list to its end, page by page, although every second request is answered with 429", async (t) => {
  t.mock.method(Math, "random", () => 0);
  using busy = await serving(
    everySecond(({ searchParams }) => {
      const at = Number(searchParams.get("continue"));
      return { items: [at], metadata: at < 4 ? { continue: String(at + 1) } : {} };
    }),
  );
  const numbers: number[] = [];
  await busy.api.pages<number>("/api/v1/nodes", {}, (items) => void numbers.push(...items));
  assert.deepEqual(numbers, [0, 1, 2, 3, 4]);
  assert.equal(busy.statuses.filter((status) => status === "GET 429").length, 4);
});

test("starts a watch again after a 429 or 503, without its caller's help", async (t) => {
  t.mock.method(Math, "random", () => 0);
  const statuses = [429, 503, 200];
  using busy = await serving((_, response) => {
    const status = statuses.shift() ?? 500;
    response.writeHead(status, { "retry-after": "0.01" }).end(status === 200 ? "one\n" : "{}");
  });
  const lines: string[] = [];
  const { signal } = new AbortController();
  await busy.api.stream("/api/v1/pods", {}, signal, (line) => void lines.push(line));
  assert.deepEqual(lines, ["one"]);
  assert.deepEqual(busy.statuses, ["WATCH 429", "WATCH 503", "WATCH 200"]);
});

test("sends a write once, whatever the answer, and reports that a 429 did nothing", async () => {
  for (const status of [429, 503]) {
    using busy = await serving((_, response) => {
      response.writeHead(status, { "retry-after": "0.01" }).end("{}");
    });
    const { api } = busy;
    const writes = [
      () => api.apply("/a", {}, { manager: "m", force: true }),
      () => api.create("/a", {}),
      () => api.replace("/a", {}),
      () => api.remove("/a", "uid"),
    ];
    for (const write of writes)
      await assert.rejects(write(), (error: ApiError) => {
        assert.deepEqual([error.status, error.didNothing], [status, status === 429]);
        return true;
      });
    assert.equal(busy.statuses.length, writes.length);
  }
});

test("stops retrying when the program ends", async () => {
  const stop = new AbortController();
  using busy = await serving(
    (_, response) => {
      stop.abort();
      response.writeHead(429, { "retry-after": "20" }).end("{}");
    },
    { stop: stop.signal },
  );
  await assert.rejects(busy.api.get("/a"), ({ status }: ApiError) => status === 429);
  assert.deepEqual(busy.statuses, ["GET 429"]);
});
