import assert from "node:assert/strict";
import { test } from "node:test";
import type { Logger } from "pino";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { statusManager } from "#kube/client/ownership.ts";
import { collections } from "#kube/client/paths.ts";
import { Informer } from "#kube/watch/informer.ts";
import { watchOver, watchPolicy } from "./watches.ts";

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

const statusOf = (manager: string) => ({
  managedFields: [{ manager, subresource: "status", time: "2026-11-29T12:00:00Z" }],
});
const changes: readonly (readonly [what: string, metadata: object, starts: boolean])[] = [
  ["nothing", {}, false],
  ["the spec", { generation: 2 }, true],
  ["an annotation", { annotations: { retry: "1" } }, true],
  ["the object, which was created again", { uid: "v" }, true],
  ["the status, by another client", statusOf("kubectl"), true],
  ["the status, by the controller", statusOf(statusManager), false],
  ["a label", { managedFields: [{ manager: "kubectl" }], labels: { a: "b" } }, false],
];
for (const [what, metadata, starts] of changes)
  test(`${starts ? "starts a run" : "starts no run"} when GlobalPullSecret changes: ${what}`, async () => {
    const stop = new AbortController();
    const before = { uid: "u", generation: 1, resourceVersion: "1" };
    const changed = { metadata: { ...before, ...metadata, resourceVersion: "2" } };
    let hints = 0;
    const live = {
      get: async () => ({
        kind: "GlobalPullSecretList",
        metadata: { resourceVersion: "1" },
        items: [{ metadata: before }],
      }),
      async stream(
        _path: string,
        _query: object,
        _signal: AbortSignal,
        line: (text: string) => void,
      ) {
        assert.equal(hints, 1);
        line(JSON.stringify({ type: "MODIFIED", object: changed }));
        stop.abort();
      },
    } as unknown as Cluster;
    const target = {
      collection: "/apis/globalpullsecret.io/v1/globalpullsecrets",
      name: "cluster",
    };
    const hint = () => void (hints += 1);
    const log = { warn: () => stop.abort() } as unknown as Logger;
    await watchPolicy({ live, target, informer: new Informer() }, hint, stop.signal, log);
    assert.equal(hints, starts ? 2 : 1);
  });

const unavailable = { reason: "x", method: "GET", path: "/x" };
for (const [status, warning] of [
  [404, /the CRD of GlobalPullSecret is missing/],
  [500, /GlobalPullSecret cannot be watched/],
] as const)
  test(`while the policy's list fails with ${status}, warns once a minute, and starts a run when the list succeeds again`, async (t) => {
    let now = 0;
    t.mock.method(performance, "now", () => now);
    /** Seconds of the warnings, and of the runs. */
    const [warned, ran]: [number[], number[]] = [[], []];
    const stop = new AbortController();
    const live = {
      // Each attempt takes so long that no pause follows it.
      async get() {
        now += 20_000;
        const isGood = now === 20_000 || now > 160_000;
        if (!isGood) throw new ApiError({ ...unavailable, status });
        return {
          kind: "GlobalPullSecretList",
          metadata: { resourceVersion: "1" },
          items: [{ metadata: { uid: "u", generation: 1, resourceVersion: "1" } }],
        };
      },
      async stream() {
        if (now > 160_000) stop.abort();
        throw new ApiError({ ...unavailable, status });
      },
    } as unknown as Cluster;
    const log = {
      warn(_: object, text: string) {
        assert.match(text, warning);
        warned.push(now / 1000);
      },
    } as unknown as Logger;
    const target = { collection: "/x", name: "cluster" };
    const hint = () => void ran.push(now / 1000);
    await watchPolicy({ live, target, informer: new Informer() }, hint, stop.signal, log);
    assert.deepEqual({ warned, ran }, { warned: [20, 80, 140], ran: [20, 180] });
  });
