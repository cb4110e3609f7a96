import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import type { Cluster } from "#kube/client/cluster.ts";
import { joinElection } from "./election.ts";

test("leaves no timer behind when the leader has ended", async (context) => {
  const set = context.mock.method(globalThis, "setInterval");
  const clear = context.mock.method(globalThis, "clearInterval");
  const log = pino({ level: "silent" });
  const { leader } = joinElection(
    { cluster: {} as Cluster, path: "/lease" },
    log,
    assert.fail,
    () => {},
  );
  await leader.until(AbortSignal.abort());
  assert.deepEqual(
    clear.mock.calls.map(({ arguments: [timer] }) => timer),
    set.mock.calls.map(({ result }) => result),
  );
  assert.equal(set.mock.callCount(), 1);
});
