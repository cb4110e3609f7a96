import assert from "node:assert/strict";
import { test } from "node:test";
import type { Logger } from "pino";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections } from "#kube/client/paths.ts";
import { Informer } from "#kube/watch/informer.ts";
import { watchOver } from "./watches.ts";

test("starts a run when a watch fails, so that an idle controller reports an unreadable object", async () => {
  const live = { get: () => Promise.reject(new Error("no answer")) } as unknown as Cluster;
  const target = { collection: collections.secrets, name: "pull-secret" };
  const stop = new AbortController();
  const log = { warn: () => void setImmediate(() => stop.abort()) } as unknown as Logger;
  let hints = 0;
  const hint = () => void (hints += 1);
  await watchOver({ live, target, informer: new Informer() }, hint, stop.signal, log);
  assert.equal(hints, 1);
});
