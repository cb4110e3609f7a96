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
