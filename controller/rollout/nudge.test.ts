import assert from "node:assert/strict";
import test from "node:test";
import type { V1DaemonSet } from "@kubernetes/client-node";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { nudge, nudgeClock } from "./nudge.ts";

/** [seconds of the clock, ready, available, what is answered] */
type Row = readonly [at: number, ready: number, available: number, answer: number | undefined];

function daemonSet(numberReady: number, numberAvailable: number): V1DaemonSet {
  const counters = { currentNumberScheduled: 9, desiredNumberScheduled: 9, numberMisscheduled: 0 };
  return { status: { ...counters, numberReady, numberAvailable, updatedNumberScheduled: 1 } };
}

const tables: Readonly<Record<string, readonly Row[]>> = {
  "nothing is nudged while every Ready counts": [
    [0, 9, 9, undefined],
    [100, 9, 9, undefined],
    [101, 8, 8, undefined],
  ],
  "a Ready is waited for until it should count, and then nudged about": [
    [0, 9, 8, 3.1],
    [2, 9, 8, 1.1],
    [3.2, 9, 8, 0],
    [3.3, 9, 9, undefined],
  ],
  "a Ready that flickers counts from its last time": [
    [0, 9, 8, 3.1],
    [0.3, 8, 8, undefined],
    [1, 9, 8, 3.1],
    [4.2, 9, 8, 0],
  ],
  "the DaemonSet is nudged three times for one state, a second apart, and not again": [
    [0, 9, 8, 3.1],
    [3.1, 9, 8, 0],
    [3.2, 9, 8, 0.9],
    [4.2, 9, 8, 0],
    [5.2, 9, 8, 0],
    [6.2, 9, 8, undefined],
    [600, 9, 8, undefined],
    [601, 9, 7, 3.1],
  ],
};

for (const [name, rows] of Object.entries(tables)) {
  test(name, () => {
    let now = 0;
    const clock = nudgeClock(() => now);
    const answers = rows.map(([at, ready, available]) => {
      now = at;
      const left = clock(daemonSet(ready, available));
      return left && Math.round(left * 10) / 10;
    });
    assert.deepEqual(
      answers,
      rows.map(([, , , answer]) => answer),
    );
  });
}

const nudged = (status: number | undefined) => {
  const sent: { metadata: object }[] = [];
  const cluster = {
    async apply(path: string, body: { metadata: object }) {
      sent.push(body);
      if (status !== undefined)
        throw new ApiError({ status, reason: "Refused", method: "PATCH", path });
    },
  } as unknown as Cluster;
  return {
    sent,
    done: nudge(cluster, { metadata: { uid: "u", resourceVersion: "7" } }, new Date(0)),
  };
};

test("the DaemonSet is nudged in the very version that was seen", async () => {
  const { sent, done } = nudged(undefined);
  await done;
  const { uid, resourceVersion } = (sent[0]?.metadata ?? {}) as Record<string, unknown>;
  assert.deepEqual([uid, resourceVersion], ["u", "7"]);
});

test("a DaemonSet that was changed meanwhile need not be nudged; any other refusal is an error", async () => {
  await nudged(409).done;
  await assert.rejects(nudged(403).done, /403/);
});

test("at birth the DaemonSet is not nudged: agents that touch nothing are never to be available", () => {
  const spec = { minReadySeconds: 86_400 } as V1DaemonSet["spec"];
  assert.equal(nudgeClock(() => 0)({ ...daemonSet(9, 0), ...(spec && { spec }) }), undefined);
});
