/** The API client against a scripted API server: what it shows, and the requests that it makes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { order, setUp, until } from "./api.fixture.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");

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
