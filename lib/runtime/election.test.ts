import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import type { Cluster } from "#kube/client/cluster.ts";
import { isLed, joinElection } from "./election.ts";

test("leaves no timer behind when the leader has ended, because one process can serve several clusters", async (context) => {
  const set = context.mock.method(globalThis, "setInterval");
  const clear = context.mock.method(globalThis, "clearInterval");
  const log = pino({ level: "silent" });
  const { leader } = joinElection({ cluster: {} as Cluster, path: "/lease" }, log, assert.fail);
  await leader.until(AbortSignal.abort());
  assert.deepEqual(
    clear.mock.calls.map(({ arguments: [timer] }) => timer),
    set.mock.calls.map(({ result }) => result),
  );
  assert.equal(set.mock.callCount(), 1);
});

/** A Lease of 15 s, renewed at each of these seconds. */
const heldBy = (holderIdentity: string, ...renewals: readonly number[]) => ({
  at: (now: number) => ({
    spec: { holderIdentity, renewTime: renewals.findLast((time) => time <= now) },
  }),
});

for (const [what, lease, led, seconds] of [
  ["absent", undefined, false, 0],
  ["released", heldBy("", 0), false, 0],
  ["renewed", heldBy("other", 0, 4, 8), true, 4],
  ["silent", heldBy("other", 0), false, 15],
] as const)
  test(`finds ${led ? "a" : "no"} leader within ${seconds} s if the Lease is ${what}`, async () => {
    let now = 0;
    const cluster = { get: async () => lease?.at(now) } as unknown as Cluster;
    const pause = async (milliseconds: number) => void (now += milliseconds / 1000);
    const found = await isLed({ cluster, path: "/lease" }, { clock: () => now, pause });
    assert.deepEqual([found, Math.round(now)], [led, seconds]);
  });
