/** The API client against a scripted API server: what it shows, and the requests that it makes. */
import assert from "node:assert/strict";
import { Socket } from "node:net";
import { test } from "node:test";
import type { Failure } from "#test/harness/agent/api-server.ts";
import type { Seen } from "./api.ts";
import { isRevision, node, order, setUp, until } from "./api.fixture.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const has = (secret: Seen["secret"], revision: string) =>
  typeof secret === "object" && secret["revision"] === base64(revision);

test("shows both objects, their absence, and each change", async (t) => {
  const { server, open, changes } = await setUp(t);
  const api = open();
  assert.deepEqual(api.seen(), { secret: "unknown", own: "unknown" });
  await until(() => api.seen().secret === "absent" && api.seen().own === "absent");
  server.secret({ revision: "7" });
  await until(() => typeof api.seen().secret === "object");
  assert.deepEqual(api.seen().secret, { revision: base64("7") });
  server.order();
  await until(() => typeof api.seen().own === "object");
  const own = api.seen().own;
  assert.ok(typeof own === "object" && own.order === undefined && own.report === undefined);
  server.order(order);
  await until(() => api.seen().own !== own);
  assert.deepEqual(api.seen().own, { uid: own.uid, order, report: undefined });
  server.secret(undefined);
  server.remove();
  await until(() => api.seen().secret === "absent" && api.seen().own === "absent");
  assert.equal(changes.count, 7);
});

test("is not woken by events that change nothing for the agent", async (t) => {
  const { server, open, changes } = await setUp(t);
  server.secret({ revision: "7" });
  server.order(order);
  const api = open();
  await until(() => typeof api.seen().secret === "object" && typeof api.seen().own === "object");
  server.secret({ revision: "7" });
  server.order(order);
  server.bookmark();
  server.secret({ revision: "8" });
  await until(() => changes.count > 2);
  assert.equal(changes.count, 3);
});

test("lists by name, and watches from the list's version with bookmarks", async (t) => {
  t.mock.method(Math, "random", () => 0.999);
  const { server, open, count } = await setUp(t);
  server.order(order);
  open();
  await until(() => count("watch", "own") > 0 && count("watch", "secret") > 0);
  const queries = server.requests
    .filter(({ object }) => object === "own")
    .map(({ query }) => query);
  const [list = {}, { timeoutSeconds, ...watch } = {}] = queries.map((query) =>
    Object.fromEntries(query),
  ) as Record<string, string>[];
  assert.deepEqual(list, { fieldSelector: `metadata.name=${node}` });
  assert.deepEqual(watch, {
    ...list,
    watch: "true",
    allowWatchBookmarks: "true",
    resourceVersion: "101",
  });
  assert.ok(Number(timeoutSeconds) >= 240 && Number(timeoutSeconds) <= 300);
});

test("continues from the last version when a watch ends, without a list", async (t) => {
  const { server, open, count, pauses } = await setUp(t);
  const api = open();
  await until(() => server.watched() === 2);
  server.secret({ revision: "before" });
  await until(() => has(api.seen().secret, "before"));
  const version = server.version();
  server.endWatches();
  server.secret({ revision: "after" });
  await until(() => has(api.seen().secret, "after"));
  const watch = server.requests.findLast(({ object }) => object === "secret");
  assert.equal(Number(watch?.query.get("resourceVersion")), version);
  assert.deepEqual([count("list", "secret"), count("watch", "secret")], [1, 2]);
  assert.ok(pauses.length > 0, "the next watch follows after a pause");
});

test("continues from the version of the last bookmark", async (t) => {
  const { server, open, count } = await setUp(t);
  open();
  await until(() => server.watched() === 2);
  server.bookmark();
  server.endWatches();
  await until(() => count("watch", "own") === 2);
  const watch = server.requests.findLast(({ object }) => object === "own");
  assert.equal(Number(watch?.query.get("resourceVersion")), server.version());
});

test("lists again when the connection breaks, and shows what was missed", async (t) => {
  const { server, open, count } = await setUp(t);
  server.secret({ revision: "7" });
  server.order(order);
  const api = open();
  await until(() => server.watched() === 2);
  server.disconnect();
  server.secret({ revision: "8" });
  server.remove();
  await until(() => has(api.seen().secret, "8") && api.seen().own === "absent");
  await until(() => server.watched() === 2);
  assert.deepEqual([count("list", "own"), count("watch", "own")], [2, 2]);
});

test("lists again after 410, once, even if the object is older than all that is known", async (t) => {
  const { server, open, count } = await setUp(t);
  server.order(order);
  server.compact();
  const api = open();
  await until(() => server.watched() === 2);
  assert.equal(count("watch", "own"), 1);
  server.compact();
  server.endWatches();
  server.order({ ...order, revision: 8 });
  await until(() => isRevision(api.seen().own, 8) && server.watched() === 2);
  assert.deepEqual([count("list", "own"), count("watch", "own")], [2, 3]);
});

for (const end of ["endWatches", "disconnect"] as const)
  test(`shows changes after versions went back, and ${end}`, async (t) => {
    const { server, open, count } = await setUp(t, { silence: { watch: 200 } });
    server.order(order);
    const api = open();
    await until(() => server.watched() === 2 && isRevision(api.seen().own, 7));
    server.rewind();
    server[end]();
    await until(() => count("list", "own") === 2 && server.watched() === 2);
    server.order({ ...order, revision: 8 });
    await until(() => isRevision(api.seen().own, 8));
  });

const failures: Readonly<Record<string, Failure>> = {
  "is cut off": "closed",
  "is answered with 401": { status: 401 },
  "is answered with 403": { status: 403 },
  "is answered with 404": { status: 404 },
  "is answered with 410": { status: 410 },
  "is answered with 429": { status: 429 },
  "is answered with 500": { status: 500 },
  "is answered with 503": { status: 503 },
  "has an empty answer": { body: "" },
  "has half an answer": { body: "{" },
  "has no object in its answer": { body: "null" },
  "has no version in its answer": { body: '{"metadata":{}}' },
  "has an absent item": { body: '{"metadata":{"resourceVersion":"1"},"items":[null]}' },
};

for (const [what, failure] of Object.entries(failures))
  for (const kind of ["list", "watch"] as const)
    test(`pauses longer and longer while each ${kind} ${what}, and then continues`, async (t) => {
      const { server, open, pauses } = await setUp(t);
      server.fail(failure, [kind]);
      const api = open();
      await until(() => pauses.length > 20);
      // A denial lasts until a person acts.
      const longest = what.includes("401") || what.includes("403") ? 60_000 : 10_000;
      assert.ok(Math.max(...pauses) >= longest / 2 && Math.max(...pauses) <= longest);
      server.heal();
      await until(() => server.watched() === 2);
      server.order(order);
      await until(() => isRevision(api.seen().own, order.revision));
    });

test("reads at most 4 MiB of an answer", async (t) => {
  const { server, open, pauses, count } = await setUp(t);
  const list = {
    metadata: { resourceVersion: "1" },
    items: [],
    padding: "x".repeat(4 * 1024 * 1024),
  };
  server.fail({ body: JSON.stringify(list) }, ["list"]);
  const api = open();
  await until(() => pauses.length > 0);
  assert.equal(api.seen().secret, "unknown");
  assert.equal(count("watch", "secret"), 0);
  server.heal();
  await until(() => server.watched() === 2);
});

test("waits at least as long as the API server requests, at most twice a minute", async (t) => {
  for (const [retryAfter, least, most] of [
    [30, 30_000, 60_000],
    [9999, 60_000, 120_000],
  ] as const) {
    const { server, open, pauses } = await setUp(t);
    server.fail({ status: 429, retryAfter });
    const { stop } = open();
    await until(() => pauses.length > 4);
    stop();
    assert.ok(pauses.every((pause) => pause >= least && pause <= most));
  }
});

const lines: Readonly<Record<string, string>> = {
  "an error": `${JSON.stringify({ type: "ERROR", object: { code: 500, details: null } })}\n`,
  "no object": `${JSON.stringify({ type: "MODIFIED" })}\n`,
  "an object without a version": `${JSON.stringify({ type: "MODIFIED", object: { metadata: {} } })}\n`,
  "no JSON": "{\n",
  "an event of 5 MiB": `${" ".repeat(5 * 1024 * 1024)}\n`,
  "a line without an end": " ".repeat(5 * 1024 * 1024),
};

for (const [what, line] of Object.entries(lines))
  test(`starts another watch after one sent ${what}`, async (t) => {
    const { server, open, count } = await setUp(t);
    server.secret({ revision: "7" });
    const api = open();
    await until(() => server.watched() === 2);
    server.write("secret", line);
    await until(() => count("watch", "secret") === 2);
    assert.deepEqual(api.seen().secret, { revision: base64("7") });
    server.secret({ revision: "8" });
    await until(() => has(api.seen().secret, "8"));
  });

test("reads many large events in one watch", async (t) => {
  const { server, open, count } = await setUp(t);
  const api = open();
  await until(() => server.watched() === 2);
  for (let revision = 1; revision <= 5; revision += 1) {
    server.secret({ revision: String(revision), document: "x".repeat(1024 * 1024) });
    await until(() => has(api.seen().secret, String(revision)));
  }
  assert.equal(count("watch", "secret"), 1);
});

test("keeps two connections, also while requests are refused", async (t) => {
  const { server, open, pauses } = await setUp(t);
  server.fail({ status: 403 });
  open();
  await until(() => pauses.length > 20);
  server.heal();
  await until(() => server.watched() === 2);
  assert.equal(server.connections(), 2);
});

test("reads an event that arrives in pieces, and two events that arrive together", async (t) => {
  const { server, open, changes } = await setUp(t);
  const api = open();
  await until(() => server.watched() === 2);
  const event = (version: number, revision: string) =>
    `${JSON.stringify({
      type: "ADDED",
      object: { metadata: { resourceVersion: String(version) }, data: { revision } },
    })}\n`;
  const text = event(500, "first") + event(501, "ö");
  const bytes = Buffer.from(text);
  const { count } = changes;
  server.write("secret", bytes.subarray(0, 5));
  server.write("secret", bytes.subarray(5, -5));
  server.write("secret", bytes.subarray(-5));
  await until(() => changes.count === count + 2);
  assert.deepEqual(api.seen().secret, { revision: "ö" });
});

for (const failure of ["silent", "begun"] as const)
  test(`gives up a request whose answer is ${failure}, and reports the silence`, async (t) => {
    const { server, open, count, clock, troubles } = await setUp(t, { silence: { answer: 200 } });
    server.fail(failure, ["list"]);
    open();
    await until(() => count("list", "own") > 1 && count("list", "secret") > 1);
    clock.now = 60_000;
    await until(() => troubles.length > 0);
    assert.match(troubles[0]?.detail ?? "", /: the connection is silent$/);
    server.heal();
    await until(() => server.watched() === 2);
  });

test("gives up a watch that stays silent", async (t) => {
  const { open, count } = await setUp(t, { silence: { watch: 50 } });
  open();
  await until(() => count("watch", "own") > 1 && count("watch", "secret") > 1);
});

for (const [kind, limit] of [
  ["list", 20_000],
  ["watch", 150_000],
] as const)
  test(`gives up a ${kind} after ${limit / 1000} s of silence, and not before`, async (t) => {
    const { server, open, count } = await setUp(t, { isUsual: true });
    const limits = new Map<Socket, number>();
    t.mock.method(Socket.prototype, "setTimeout", function (this: Socket, milliseconds: number) {
      limits.set(this, milliseconds);
      return this;
    });
    /** Returns how many of the client's connections end after that silence. */
    const silentFor = (milliseconds: number) => {
      const ended = [...limits].filter(
        ([{ remotePort }, most]) => remotePort === server.port && most <= milliseconds,
      );
      for (const [socket] of ended) socket.emit("timeout");
      return ended.length;
    };
    if (kind === "list") server.fail("silent", ["list"]);
    const api = open();
    const requests = () => count(kind, "own") + count(kind, "secret");
    await until(() => requests() === 2);
    if (kind === "watch") {
      server.secret({ revision: "7" });
      server.order(order);
      await until(() => has(api.seen().secret, "7") && isRevision(api.seen().own, 7));
    }
    assert.equal(silentFor(limit - 1), 0);
    assert.equal(silentFor(limit), 2);
    await until(() => requests() === 4);
  });

test("neither hurries nor delays a trouble when the node's clock is set", async (t) => {
  const { server, open, pauses, troubles } = await setUp(t, { isUsual: true });
  const [now, began] = [performance.now(), Date.now()];
  const steady = t.mock.method(performance, "now", () => now);
  const set = t.mock.method(Date, "now", () => began);
  const failsOften = async () => {
    const { length } = pauses;
    await until(() => pauses.length > length + 4);
  };
  server.fail({ status: 403 });
  open();
  for (const hours of [0, 9, -9]) {
    set.mock.mockImplementation(() => began + hours * 3_600_000);
    await failsOften();
  }
  assert.deepEqual(troubles, []);
  steady.mock.mockImplementation(() => now + 60_000);
  await until(() => troubles.length > 0);
});

test("pauses shortly again after a watch that lasted", async (t) => {
  const { server, open, pauses, clock } = await setUp(t);
  server.fail("closed");
  open();
  await until(() => pauses.length > 20);
  server.heal();
  await until(() => server.watched() === 2);
  clock.now += 10_000;
  const { length } = pauses;
  server.endWatches();
  await until(() => pauses.length >= length + 2);
  assert.ok(Math.max(...pauses.slice(length)) <= 200);
});

test("stops all requests and connections at once when it is stopped", async (t) => {
  const { server, open, troubles } = await setUp(t);
  const { stop } = open();
  await until(() => server.watched() === 2);
  assert.equal(server.connections(), 2);
  stop();
  await until(() => server.connections() === 0);
  assert.deepEqual(troubles, []);
});
