/** kstatus (Flux, kpt, kubectl-apply tools) and Argo CD judge every state of our objects. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClusterStatus } from "#api/fleet-secret.ts";
import { statusOf } from "#fleet/rules/status.ts";
import { ask } from "./ask.ts";
import { states } from "./states.ts";

const objects = states.map(({ object }) => object);

test("gets the intended judgement from kstatus' own code in every state of a rollout", async () => {
  const judgements = await ask(objects);
  assert.deepEqual(
    states.map(({ name }, at) => [name, judgements[at]?.kstatus]),
    states.map(({ name, kstatus }) => [name, kstatus]),
  );
});

test("gets the intended health and message from Argo CD in every state", async () => {
  const judgements = await ask(objects);
  assert.deepEqual(
    states.map(({ name }, at) => [name, judgements[at]?.health, judgements[at]?.message]),
    states.map(({ name, health }) => [name, health.status, health.message]),
  );
});

test("gets the same judgements from Argo CD and kstatus in any order of the conditions", async () => {
  const reversed = objects.map((object) => {
    const conditions = object.status.conditions.toReversed();
    return Object.assign({}, object, { status: { ...object.status, conditions } });
  });
  assert.deepEqual(await ask(reversed), await ask(objects));
});

test("kstatus reports InProgress and Argo CD Progressing before a controller has observed the object", async () => {
  const bare = { apiVersion: "globalpullsecret.io/v1alpha1", kind: "GlobalPullSecret" };
  const metadata = { name: "cluster", generation: 1 };
  const objects = [
    { ...bare, metadata, status: { observedGeneration: -1 } },
    { ...bare, metadata, status: { observedGeneration: 0, conditions: [] } },
  ];
  for (const { kstatus, health } of await ask(objects)) {
    assert.equal(kstatus, "InProgress");
    assert.equal(health, "Progressing");
  }
});

type Fleet = readonly ClusterStatus["state"][];
const refused = { reason: "SourceRefused", message: "" } as const;
const fleets: readonly (readonly [
  what: string,
  clusters: Fleet,
  kstatus: string,
  health: string,
  more?: Partial<Parameters<typeof statusOf>[0]>,
])[] = [
  ["no cluster is selected", [], "InProgress", "Progressing"],
  ["no cluster of three is reached", Array(3).fill("Unreachable"), "InProgress", "Progressing"],
  ["one of two is not reached", ["Done", "Unreachable"], "InProgress", "Progressing"],
  ["one of two waits", ["Done", "Waiting"], "InProgress", "Progressing"],
  ["one of two refuses", ["Done", "Failed"], "InProgress", "Degraded"],
  ["one leaves", ["Done", "Leaving"], "InProgress", "Progressing"],
  ["both have it", ["Done", "Done"], "Current", "Healthy"],
  [
    "both have it, for an older spec",
    ["Done", "Done"],
    "InProgress",
    "Progressing",
    { generation: 2 },
  ],
  ["the source is refused", ["Done"], "Failed", "Degraded", { stalled: refused }],
  ["it is paused", ["Done"], "InProgress", "Suspended", { paused: true }],
];

test("Argo CD and kstatus judge a FleetSecret as good only if every selected cluster has the Secret of the current spec", async () => {
  const objects = fleets.map(([, states, , , more]) => {
    const clusters = states.map((state, at) => ({ name: `c${at}`, state }));
    const findings = { clusters, version: "1", stalled: undefined, paused: false, warnings: [] };
    return {
      apiVersion: "globalpullsecret.io/v1alpha1",
      kind: "FleetSecret",
      metadata: { name: "one", namespace: "kube-system", generation: 3 },
      status: statusOf({ generation: 3, now: new Date(), ...findings, ...more }),
    };
  });
  const verdicts = (await ask(objects)).map(({ kstatus: is, health }, at) => [
    fleets[at]?.[0],
    is,
    health,
  ]);
  assert.deepEqual(
    verdicts,
    fleets.map(([what, , is, health]) => [what, is, health]),
  );
});
