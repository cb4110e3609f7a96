/**
 * The frame of the long-running programs on a fake API server: what a program writes without the
 * Lease, and when the frame releases the Lease. The program itself is a few lines of this test.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { V1Lease } from "@kubernetes/client-node";
import { pino } from "pino";
import { ApiError } from "#kube/client/api-error.ts";
import { collections, leaseIn } from "#kube/client/paths.ts";
import { namespace } from "#contract/names.ts";
import { serveProgram, type Around } from "#runtime/run.ts";
import { until } from "#test/cluster/await.ts";
import { temporary } from "#test/temporary.ts";
import { FakeServer } from "../harness/api/server.ts";

const definition = join(import.meta.dirname, "../../manifests/chart/crds/globalpullsecrets.yaml");
const lease = "frame-test";
const isLease = (resource: string): boolean => resource.endsWith("/leases");
const secret = { kind: "Secret", metadata: { name: "written" }, data: {} };

/**
 * Serves a program whose loop is `work`. `work` gets the frame's tools, and the signal that asks it
 * to end.
 */
async function serving(
  t: TestContext,
  server: FakeServer,
  work: (around: Around, signal: AbortSignal) => Promise<void>,
) {
  const kubeconfig = join(temporary(t), "kubeconfig");
  writeFileSync(kubeconfig, server.kubeconfig("frame"), { mode: 0o600 });
  const stop = new AbortController();
  t.after(() => stop.abort());
  const served = serveProgram(
    {
      manager: "frame-test",
      lease,
      open: (_config, around) => ({
        until: async (signal) => work(around, signal),
        silence: () => 0,
      }),
    },
    { kubeconfig, listen: { host: "127.0.0.1", port: 0 }, "log-level": "silent" },
    { log: pino({ level: "silent" }), stop, lost: () => assert.fail("the Lease was lost") },
  );
  const api = server.api("frame");
  const holder = () => api.object<V1Lease>(leaseIn(namespace, lease))?.spec?.holderIdentity ?? "";
  return { api, stop, served, holder };
}

test("lets a program write while it holds the Lease, and keeps the Lease until the last run has ended", async (t) => {
  await using server = await FakeServer.start(readFileSync(definition, "utf8"));
  let isRunning = false;
  let endRun = (): void => {};
  const lastRun = new Promise<void>((resolve) => (endRun = resolve));
  t.after(() => endRun());
  const { api, stop, served, holder } = await serving(t, server, async ({ home }, signal) => {
    isRunning = true;
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    await lastRun;
    await home.create(collections.secrets, secret);
  });
  await until("the program runs", () => isRunning);
  const own = holder();
  assert.notEqual(own, "");
  const writes = () =>
    api.asked.filter(({ resource, verb }) => isLease(resource) && verb !== "get");
  const before = writes().length;
  stop.abort();
  await until("the Lease is renewed during the last run", () => writes().length > before);
  assert.equal(holder(), own, "another process must not begin while the last run still writes");
  endRun();
  await served;
  assert.ok(api.object(`${collections.secrets}/written`), "the last run has written");
  assert.equal(holder(), "", "the next holder can begin at once");
});

test("refuses a write of a program that does not hold the Lease any more", async (t) => {
  await using server = await FakeServer.start(readFileSync(definition, "utf8"));
  let home: Around["home"] | undefined;
  const { api, stop, served } = await serving(t, server, async (around, signal) => {
    home = around.home;
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  });
  await until("the program runs", () => home !== undefined);
  stop.abort();
  await served;
  assert.ok(home);
  await assert.rejects(
    home.create(collections.secrets, secret),
    (error) => error instanceof ApiError && error.reason === "LeaseLost",
  );
  assert.equal(api.object(`${collections.secrets}/written`), undefined);
});
