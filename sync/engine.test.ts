/** Pauses of the engine, of a side that is scripted: no real API server fails at a chosen call. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readFileSync } from "node:fs";
import type { V1ObjectMeta } from "@kubernetes/client-node";
import { pino, type Logger } from "pino";
import type { Cluster } from "#kube/client/cluster.ts";
import { fenced } from "#kube/lease/fenced-client.ts";
import { FakeApi } from "#test/harness/api/api.ts";
import { directly } from "#test/harness/api/direct.ts";
import { Engine } from "./engine.ts";
import { managementSide } from "./management/side.ts";
import { syncSecretsIn } from "./objects.ts";
import type { Side } from "./side.ts";
import { tenantSide } from "./tenant/side.ts";

test("a clock that is set back makes the pause after a failure no longer", async (t) => {
  const metadata = { name: "one", namespace: "default", uid: "u", resourceVersion: "1" };
  const cluster = {
    async pages(path: string, _query: object, each: (page: readonly object[]) => void) {
      each(path === "objects" ? [{ metadata }] : []);
    },
    get: () => Promise.reject(new Error("scripted")),
  } as unknown as Cluster;
  const side = { from: cluster, to: cluster, objects: "objects", made: "made" } as unknown as Side;
  const log = { error() {} } as unknown as Logger;
  const engine = new Engine(side, log, { looked() {} });
  t.mock.timers.enable({ apis: ["Date"], now: Date.parse("2999-01-01") });
  const pause = (await engine.run())?.seconds ?? assert.fail("it did not fail");
  t.mock.timers.setTime(Date.parse("2026-01-01"));
  const again = (await engine.run())?.seconds ?? assert.fail("it is not tried again");
  assert.ok(again <= pause, `${again} s after ${pause} s`);
});

type Stored = Readonly<{ metadata: V1ObjectMeta }>;

/** Both clusters of a tenant, in memory. */
function pairOf() {
  const yaml = readFileSync("manifests/crds/syncsecrets/syncsecrets.yaml", "utf8");
  const [home, management] = [new FakeApi(), new FakeApi()];
  for (const api of [home, management]) api.store.define(yaml);
  const [here, there] = [home, management].map((api) =>
    fenced(directly(api, "global-pull-secret-sync"), () => true),
  ) as [Cluster, Cluster];
  const object = (path: string) => home.object<Stored>(`${syncSecretsIn("default")}/${path}`);
  const create = async (name: string, finalizers: readonly string[] = []) => {
    const metadata = { name, namespace: "default", finalizers };
    await here.create(syncSecretsIn("default"), {
      apiVersion: "globalpullsecret.io/v1alpha1",
      kind: "SyncSecret",
      metadata,
      data: { a: "eA==" },
    });
  };
  return { home, management, here, there, object, create };
}
const quiet = pino({ level: "silent" });

test("the tenant's side deletes a copy in the foreground, so that its Secret goes first", async () => {
  const { management, here, there, object, create } = pairOf();
  await create("one");
  const engine = new Engine(tenantSide(here, there, "tenant-a"), quiet, { looked() {} });
  await engine.run();
  await here.remove(`${syncSecretsIn("default")}/one`, object("one")?.metadata.uid ?? "");
  await engine.run();
  const deleted = management.asked.find(({ verb }) => verb === "delete");
  assert.partialDeepStrictEqual(deleted?.body, { propagationPolicy: "Foreground" });
  await engine.run();
  await engine.run();
  assert.equal(object("one"), undefined);
});

test("the management side puts no finalizer on a copy, and takes that of version 0.2 off", async () => {
  const { here, object, create } = pairOf();
  const former = "globalpullsecret.io/sync";
  await create("kept", [former]);
  await create("leaving", [former]);
  await here.remove(`${syncSecretsIn("default")}/leaving`, object("leaving")?.metadata.uid ?? "");
  const side = managementSide(here, "default");
  const engine = new Engine(side, quiet, { looked() {} });
  await engine.run();
  assert.equal(object("leaving"), undefined);
  assert.deepEqual(object("kept")?.metadata.finalizers ?? [], []);
});
