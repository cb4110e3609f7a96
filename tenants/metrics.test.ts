import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import type { CoreV1Event } from "@kubernetes/client-node";
import { openMeters } from "#runtime/metrics.ts";
import { until } from "#test/cluster/await.ts";
import { FakeApi } from "#test/harness/api/api.ts";
import { directly } from "#test/harness/api/direct.ts";
import { refuse } from "#test/harness/api/protocol.ts";
import { createAlarm, createExcess, createExpiry, createMetrics } from "./metrics.ts";
import { serveSide } from "./service.ts";
import { managementSide } from "./side.ts";

test("L20: counts by namespace the deletions that ended at the deadline, and reports each in an Event on the object", async () => {
  const api = new FakeApi();
  const meters = openMeters();
  const alarm = createAlarm(directly(api, "global-pull-secret-sync"), meters);
  await alarm({ name: "one", namespace: "web", uid: "u" }, "GPS478: left behind");
  assert.match(
    await meters.registry.metrics(),
    /^global_pull_secret_sync_left_behind_total\{namespace="web"\} 1$/m,
  );
  const [event] = api.asked.map(({ body }) => body as CoreV1Event);
  assert.partialDeepStrictEqual(event, {
    metadata: { namespace: "web" },
    involvedObject: { kind: "SyncSecret", name: "one", namespace: "web", uid: "u" },
    type: "Warning",
    reason: "LeftBehind",
    message: "GPS478: left behind [kubectl pull-secret help GPS478]",
  });
});

test("of what is left out, reports only an object that is too large in an Event on it", async () => {
  const api = new FakeApi();
  const report = createExcess(directly(api, "global-pull-secret-sync"), openMeters())("web");
  await report({ is: "many", count: 9 }, "GPS483: many");
  await report({ is: "fast" }, "GPS484: fast");
  assert.deepEqual(api.asked, []);
  await report({ is: "large", name: "one" }, "GPS482: large");
  const [event] = api.asked.map(({ body }) => body as CoreV1Event);
  const involvedObject = { kind: "SyncSecret", name: "one", namespace: "web" };
  assert.partialDeepStrictEqual(event, { involvedObject, type: "Warning", reason: "LeftOut" });
  assert.match(event?.message ?? "", /^GPS482: large/);
});

test("exports a metric with the time at which the tenant's token expires", async () => {
  const meters = openMeters();
  createExpiry(meters)(1_800_000_000);
  assert.match(
    await meters.registry.metrics(),
    /^global_pull_secret_sync_token_expiry_timestamp_seconds 1800000000$/m,
  );
});

test("L27: exports the time of the last success also while no run has succeeded, and keeps it after a failure", async () => {
  const meters = openMeters();
  const { ran } = createMetrics(meters);
  const name = /^global_pull_secret_sync_last_success_timestamp_seconds\{namespace="t"\} (\d+)/m;
  const lastSuccess = async () => Number(name.exec(await meters.registry.metrics())?.[1]);
  ran("t", false);
  assert.equal(await lastSuccess(), 0);
  ran("t", true);
  ran("t", false);
  assert.ok((await lastSuccess()) > 1_700_000_000);
});

test("L27: counts each run that fails, by the tenant's namespace", async (t) => {
  const api = new FakeApi();
  api.refuses = () => refuse(403, "Forbidden", "no");
  const meters = openMeters();
  const side = managementSide(directly(api, "global-pull-secret-sync"), "tenant-a");
  const stop = new AbortController();
  const ended = serveSide({
    side,
    namespace: "tenant-a",
    log: pino({ level: "silent" }),
    metrics: createMetrics(meters),
  }).until(stop.signal);
  t.after(async () => {
    stop.abort();
    await ended;
  });
  const runs = /^global_pull_secret_sync_runs_total\{namespace="tenant-a",result="(\w+)"\} [1-9]/gm;
  await until("a run is counted", async () => {
    const counted = new Set(
      Array.from((await meters.registry.metrics()).matchAll(runs), ([, result]) => result),
    );
    assert.ok(!counted.has("success"));
    return counted.has("error");
  });
  const success = /_last_success_timestamp_seconds\{namespace="tenant-a"\}/;
  assert.match(await meters.registry.metrics(), success);
  stop.abort();
  await ended;
  assert.doesNotMatch(await meters.registry.metrics(), success);
});
