import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import test from "node:test";
import { Gauge, Registry } from "prom-client";
import { serve } from "./server.ts";

test("answers 500 when a gauge throws, and continues to serve", async () => {
  const metrics = new Registry();
  const collect = () => {
    throw new Error("a gauge's own");
  };
  metrics.registerMetric(new Gauge({ name: "broken", help: "throws", registers: [], collect }));
  const health = {
    sick: () => undefined,
    ready: (): never => {
      throw new Error("its own");
    },
  };
  const server = await serve({ host: "127.0.0.1", port: 0 }, health, metrics);
  const { port } = server.address() as AddressInfo;
  const statusOf = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;
  const statuses = [
    await statusOf("/metrics"),
    await statusOf("/readyz"),
    await statusOf("/healthz"),
  ];
  server.close();
  assert.deepEqual(statuses, [500, 500, 200]);
});

test("answers health and readiness with their reasons, and names its paths", async (t) => {
  let sick: string | undefined;
  let ready = false;
  const health = { sick: () => sick, ready: () => ({ ready, reason: ready ? "ok" : "standby" }) };
  const server = await serve({ host: "127.0.0.1", port: 0 }, health, new Registry());
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const answerOf = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return [response.status, (await response.text()).trim()];
  };
  assert.deepEqual(await answerOf("/healthz"), [200, "ok"]);
  assert.deepEqual(await answerOf("/readyz"), [503, "standby"]);
  [sick, ready] = ["no run for 600 s", true];
  assert.deepEqual(await answerOf("/healthz?verbose"), [500, "no run for 600 s"]);
  assert.deepEqual(await answerOf("/readyz"), [200, "ok"]);
  assert.deepEqual(await answerOf("/metrics"), [200, ""]);
  const { headers } = await fetch(`http://127.0.0.1:${port}/metrics`);
  assert.match(headers.get("content-type") ?? "", /^text\/plain; version=/);
  assert.deepEqual(await answerOf("/"), [404, "paths: /healthz, /readyz and /metrics"]);
});

test("fails if the port is in use", async (t) => {
  const health = { sick: () => undefined, ready: () => ({ ready: true, reason: "ok" }) };
  const start = async (port: number) => serve({ host: "127.0.0.1", port }, health, new Registry());
  const server = await start(0);
  t.after(() => server.close());
  await assert.rejects(start((server.address() as AddressInfo).port), { code: "EADDRINUSE" });
});
