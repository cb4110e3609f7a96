/** Pauses of the engine, of a side that is scripted: no real API server fails at a chosen call. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Logger } from "pino";
import type { Cluster } from "#kube/client/cluster.ts";
import { Engine } from "./engine.ts";
import type { Side } from "./side.ts";

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
