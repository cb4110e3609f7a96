import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1DaemonSet } from "@kubernetes/client-node";
import type { Cluster } from "#kube/client/cluster.ts";
import { podlessClock } from "./podless.ts";

const live = (current: number) =>
  ({
    metadata: { uid: "u" },
    status: { desiredNumberScheduled: 3, currentNumberScheduled: current },
  }) as V1DaemonSet;
const event = (time: string, message: string) => ({ lastTimestamp: time, message });

function setUp(...items: readonly object[]) {
  const clock = { seconds: 1000 };
  const queries: string[] = [];
  const pages = async (
    _: string,
    query: { fieldSelector: string },
    each: (items: readonly object[]) => void,
  ) => {
    queries.push(query.fieldSelector);
    each(items);
  };
  const ask = podlessClock({ pages } as unknown as Cluster, () => new Date(clock.seconds * 1000));
  return { clock, queries, ask };
}

test("nodes that have had no agent for 10 s are told with the latest word of the DaemonSet's controller", async () => {
  const { clock, queries, ask } = setUp(
    event(
      "2026-01-01T00:00:02Z",
      'Error creating: pods "global-pull-secret-syncer-x7k2p" is forbidden: violates it',
    ),
    event("2026-01-01T00:00:01Z", "older"),
  );
  assert.equal(await ask(live(0)), undefined);
  clock.seconds += 10;
  assert.deepEqual(await ask(live(1)), {
    count: 2,
    quoted: 'Error creating: pods "global-pull-secret-syncer-…" is forbidden: violates it',
  });
  assert.match(queries[0] ?? "", /^reason=FailedCreate,involvedObject.kind=DaemonSet,.*uid=u$/);
});

test("the Events are read every 30 s at most, and not at all where every node has an agent or is between two", async () => {
  const { clock, queries, ask } = setUp();
  for (let second = 0; second < 60; second++, clock.seconds++)
    await ask(live(second % 5 === 0 ? 3 : 2));
  assert.equal(queries.length, 0);
  for (let second = 0; second < 60; second++, clock.seconds++) await ask(live(2));
  assert.equal(queries.length, 2);
});

test("Events that cannot be read leave the number", async () => {
  const ask = podlessClock(
    { pages: () => Promise.reject(new Error("no")) } as unknown as Cluster,
    () => new Date(at),
  );
  let at = 0;
  await ask(live(2));
  at = 20_000;
  assert.deepEqual(await ask(live(2)), { count: 1, quoted: undefined });
});
