import assert from "node:assert/strict";
import { hostname } from "node:os";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { V1Lease } from "@kubernetes/client-node";
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

test("takes part under the pod's name, and under another identity in each process", async (context) => {
  const before = process.env["POD_NAME"];
  context.after(() => {
    if (before === undefined) delete process.env["POD_NAME"];
    else process.env["POD_NAME"] = before;
  });
  for (const pod of ["pod-a", undefined]) {
    if (pod === undefined) delete process.env["POD_NAME"];
    else process.env["POD_NAME"] = pod;
    const identities: string[] = [];
    for (let round = 0; round < 2; round += 1) {
      const end = new AbortController();
      const metadata = { uid: "u", resourceVersion: "1" };
      const cluster = {
        get: async () => undefined,
        apply: async (_path: string, body: V1Lease) => {
          if (body.spec?.holderIdentity) identities.push(body.spec.holderIdentity);
          end.abort();
          return { ...body, metadata };
        },
      } as unknown as Cluster;
      const log = pino({ level: "silent" });
      const place = { cluster, path: "/lease" };
      await joinElection(place, log, assert.fail, () => {}).leader.until(end.signal);
    }
    assert.equal(new Set(identities).size, 2, identities.join());
    for (const identity of identities)
      assert.equal(identity.replace(/_[0-9a-f]{8}$/, ""), pod ?? hostname());
  }
});

test("reports which controller it stands by for, until it leads itself", async ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  let holderIdentity = "other";
  const metadata = { uid: "u", resourceVersion: "1" };
  const cluster = {
    get: async () => ({ metadata, spec: { holderIdentity } }),
    apply: async (_path: string, body: object) => ({ ...body, metadata }),
  } as unknown as Cluster;
  const reported: (readonly [leads: boolean, standby: string])[] = [];
  const { leader, standby } = joinElection(
    { cluster, path: "/lease" },
    pino({ level: "silent" }),
    assert.fail,
    (leads) => void reported.push([leads, standby()]),
  );
  const end = new AbortController();
  const ended = leader.until(end.signal);
  const next = async () => (mock.timers.tick(60_000), await setImmediate());
  while (reported.length === 0) await next();
  holderIdentity = "";
  while (reported.length === 1) await next();
  end.abort();
  await ended;
  assert.deepEqual(reported, [
    [false, "standby: other holds the Lease"],
    [true, ""],
  ]);
});

test("ends a leader that could not renew its Lease for 10 s, within half a second, whatever the node's clock shows", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const at = { steady: 1_000_000, set: Date.now() };
  t.mock.method(performance, "now", () => at.steady);
  t.mock.method(Date, "now", () => at.set);
  const metadata = { uid: "u", resourceVersion: "1" };
  const cluster = {
    get: async () => undefined,
    apply: async (_path: string, body: object) => ({ ...body, metadata }),
  } as unknown as Cluster;
  let isEnded = false;
  const leads = Promise.withResolvers<void>();
  const { leader } = joinElection(
    { cluster, path: "/lease" },
    pino({ level: "silent" }),
    () => (isEnded = true),
    () => leads.resolve(),
  );
  const stop = new AbortController();
  t.after(() => stop.abort());
  void leader.until(stop.signal);
  await leads.promise;
  at.set += 9 * 3_600_000;
  at.steady += 9999;
  t.mock.timers.tick(500);
  assert.equal(isEnded, false);
  at.steady += 1;
  t.mock.timers.tick(499);
  assert.equal(isEnded, false);
  t.mock.timers.tick(1);
  assert.equal(isEnded, true);
});
