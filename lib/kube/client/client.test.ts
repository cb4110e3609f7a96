import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { KubeConfig } from "@kubernetes/client-node";
import { ApiError } from "./api-error.ts";
import { connect } from "./client.ts";
import type { Replacing } from "./cluster.ts";
import { mockDeadlines } from "./deadline.fixture.ts";
import { ServerClock } from "./server-clock.ts";

async function listening(answer: RequestListener) {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const end = () => (server.closeAllConnections(), server.close());
  return { url, server, [Symbol.dispose]: end };
}

const planted = "planted-5b1f";

/** Answers of a server that a tenant might run, with status 200, 500 or 403. */
const odd: readonly (readonly [what: string, status: number, body: string, reported: RegExp])[] = [
  ["no JSON", 200, `${planted}{`, /no answer Unreachable: the answer is not JSON$/],
  ["a page", 500, `<html>${planted}</html>`, /500 Refused$/],
  ["a reason of its own", 403, JSON.stringify({ reason: `${planted}\n` }), /403 Refused$/],
  ["a reason that is not text", 403, JSON.stringify({ reason: [planted] }), /403 Refused$/],
  ["null", 403, "null", /403 Refused$/],
  ["a message", 403, JSON.stringify({ reason: "No", message: planted }), /403 No$/],
  ["too much", 200, JSON.stringify(planted.repeat(9000)), /the answer is larger than 65536 bytes$/],
  ["empty lists", 200, `[${"[],".repeat(9000)}0]`, /the answer has more than 8000 values$/],
  ["a refusal of lists", 500, `[${"[],".repeat(9000)}0]`, /the answer has more than 8000 values$/],
];
for (const [what, status, body, reported] of odd)
  test(`reports only status and reason of an API server that answers ${what}`, async () => {
    using server = await listening((_, response) => response.writeHead(status).end(body));
    const config = new KubeConfig();
    const cluster = { name: "odd", server: server.url, skipTLSVerify: true };
    config.loadFromClusterAndUser(cluster, { name: "user" });
    const api = connect(config, () => {}, { largest: 65_536, mostValues: 8000 });
    await assert.rejects(api.get("/api/v1/namespaces/a/secrets/b"), (error: Error) => {
      assert.match(error.message, reported);
      assert.ok(!error.message.includes(planted));
      return true;
    });
  });

test("reads the API server's time from each answer, even from a refusal", async () => {
  const date = "Thu, 01 Jan 2026 12:00:00 GMT";
  using server = await listening((_, response) => response.writeHead(403, { date }).end());
  const config = new KubeConfig();
  const cluster = { name: "other", server: server.url, skipTLSVerify: true };
  config.loadFromClusterAndUser(cluster, { name: "user" });
  const clock = new ServerClock();
  const api = connect(config, () => {}, { clock });
  await assert.rejects(api.get("/api/v1/nodes"), { status: 403 });
  assert.equal(clock.now().toISOString().slice(0, 16), "2026-01-01T12:00");
});

const metadata = { uid: "u", resourceVersion: "7" };
/** Each request, and its line, the type of its body or answer, and its body, as they are sent. */
const requests: readonly (readonly [
  ask: (api: Replacing) => Promise<unknown>,
  received: string,
])[] = [
  [(api) => api.get("/a"), "GET /a application/json"],
  [
    (api) => api.get("/a", { as: "metadata" }),
    "GET /a application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
  ],
  [(api) => api.get("/a", { as: "text" }), "GET /a */*"],
  [(api) => api.create("/a", { b: 1 }), 'POST /a?fieldManager=us application/json {"b":1}'],
  [
    (api) => api.patch("/a", { metadata }),
    'PATCH /a?fieldManager=us application/merge-patch+json {"metadata":{"uid":"u","resourceVersion":"7"}}',
  ],
  [
    (api) => api.create("/a", { b: ["whole \u{1F511}", "half \uD83D"] }),
    'POST /a?fieldManager=us application/json {"b":["whole \u{1F511}","half \uFFFD"]}',
  ],
  [(api) => api.replace("/a", { b: 1 }), 'PUT /a?fieldManager=us application/json {"b":1}'],
  [
    (api) => api.apply("/a", { b: 1 }, { manager: "m", force: false }),
    'PATCH /a?fieldManager=m&force=false application/apply-patch+yaml {"b":1}',
  ],
  [
    (api) => api.apply("/a", { b: 1 }, { manager: "m", force: true, dryRun: true }),
    'PATCH /a?fieldManager=m&force=true&dryRun=All application/apply-patch+yaml {"b":1}',
  ],
  [
    (api) => api.remove("/a", "u", "7"),
    'DELETE /a application/json {"propagationPolicy":"Background","preconditions":{"uid":"u","resourceVersion":"7"}}',
  ],
];
test("sends each request with its own query, types and body", async () => {
  let received = "";
  using server = await listening((request, response) => {
    void text(request).then((body) => {
      const { method, url, headers } = request;
      const type = headers["content-type"] ?? headers.accept;
      received = [headers["user-agent"], method, url, type, body].join(" ").trim();
      response.end("{}");
    });
  });
  const config = new KubeConfig();
  const cluster = { name: "other", server: server.url, skipTLSVerify: true };
  config.loadFromClusterAndUser(cluster, { name: "user" });
  const api = connect(config, () => {}, { manager: "us" });
  for (const [ask, expected] of requests) {
    await ask(api);
    assert.equal(received, `us ${expected}`);
  }
});

test("follows no redirect to another server, and sends none of our data there", async () => {
  const asked: string[] = [];
  using inner = await listening((request, response) => {
    asked.push(request.url ?? "");
    response.end("{}");
  });
  using outer = await listening((request, response) => {
    const here = request.url === "/within" ? "/within/2" : `${inner.url}/inner`;
    if (request.url === "/within/2") return void response.end('{"found":true}');
    response.writeHead(307, { location: here }).end();
  });
  const config = new KubeConfig();
  // The client accepts http only with skipTLSVerify.
  const cluster = { name: "outer", server: outer.url, skipTLSVerify: true };
  config.loadFromClusterAndUser(cluster, { name: "user", token: "planted" });
  const api = connect(config, () => {});
  const body = { data: "planted" };
  const refused = /^Error: \S+ \/away: no answer Unreachable: redirected to another server$/;
  await assert.rejects(api.get("/away"), refused);
  await assert.rejects(api.apply("/away", body, { manager: "m", force: true }), refused);
  assert.deepEqual(asked, []);
  assert.deepEqual(await api.get("/within"), { found: true });
});

for (const fixed of [true, false])
  test(`opens ${fixed ? "no" : "a"} new connection after a minute for a kubeconfig that is ${fixed ? "" : "not "}fixed`, async ({
    mock,
  }) => {
    let now = performance.now();
    mock.method(performance, "now", () => now);
    using listener = await listening((_, response) => void response.end("{}"));
    let opened = 0;
    listener.server.on("connection", () => (opened += 1));
    const config = new KubeConfig();
    const cluster = { name: "one", server: listener.url, skipTLSVerify: true };
    config.loadFromClusterAndUser(cluster, { name: "user" });
    const api = connect(config, () => {}, { fixed });
    // A connection becomes free one event-loop turn after its answer was read.
    const ask = async () => (await api.get("/one"), await setImmediate());
    await ask();
    await ask();
    const before = opened;
    now += 60_000;
    await ask();
    assert.equal(opened - before, 0);
    now += 1;
    await ask();
    assert.equal(opened - before, fixed ? 0 : 1);
  });

for (const [what, asker, most] of [
  ["by default", {}, 30],
  ["of a client with other limits", { seconds: 10 }, 10],
] as const)
  test(`gives up a request ${what} after ${most} s, and not before`, async (t) => {
    const deadlines = mockDeadlines(t);
    const asked = Promise.withResolvers<void>();
    using listener = await listening(() => asked.resolve());
    const config = new KubeConfig();
    const cluster = { name: "silent", server: listener.url, skipTLSVerify: true };
    config.loadFromClusterAndUser(cluster, { name: "user" });
    const outcome = connect(config, () => {}, asker).get("/one");
    await asked.promise;
    assert.equal(deadlines.pass(most * 1000 - 1), 0);
    assert.equal(deadlines.pass(most * 1000), 1);
    await assert.rejects(outcome, ({ status }: ApiError) => status === 0);
  });

test("if a credential cannot be obtained, reports an unreachable API server, and never quotes the credential", async () => {
  const folder = mkdtempSync(join(tmpdir(), "credentials-"));
  const script = join(folder, "plugin");
  writeFileSync(script, `#!/bin/sh\nprintf '\\357\\273\\277{"status":{"token":"${planted}"}}'\n`, {
    mode: 0o755,
  });
  const exec = (command: string) => ({ apiVersion: "client.authentication.k8s.io/v1", command });
  const at = { name: "odd", server: "https://127.0.0.1:1", skipTLSVerify: false };
  const rows = [
    [
      "prints a text that is not JSON",
      { exec: exec(script) },
      {},
      /output of the kubeconfig's command is not a credential$/,
    ],
    [
      "is not there",
      { exec: exec(join(folder, "none")) },
      {},
      /no answer NoCredential: the kubeconfig's credential plugin \S+none is not installed$/,
    ],
    ["names a certificate that is missing", {}, { caFile: join(folder, "ca") }, /ENOENT/],
    ["speaks http", {}, { server: "http://127.0.0.1:1" }, /no answer Unreachable: /],
  ] as const;
  for (const [what, user, cluster, reported] of rows) {
    const config = new KubeConfig();
    config.loadFromClusterAndUser({ ...at, ...cluster }, { name: "user", ...user });
    const calls: number[] = [];
    const api = connect(config, (_, status) => void calls.push(status));
    await assert.rejects(api.get("/api"), (error: Error) => {
      assert.ok(error instanceof ApiError && error.status === 0, `${what}: ${String(error)}`);
      assert.match(error.message, reported, what);
      assert.ok(!error.message.includes(planted), what);
      return true;
    });
    assert.deepEqual(calls, [0], what);
  }
  rmSync(folder, { recursive: true });
});
