/** Every Type of a kubelet's unit, and every time at which it may die with the new file. */
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { type Death, getsItsFileBack, types } from "./deaths.ts";
import { Inside } from "./inside.ts";
import { content } from "./place.ts";

let cluster: Cluster;
let inside: Inside;
let revision = 0;

before(async () => {
  cluster = await startCluster({ nodes: 1 });
  const [machine] = cluster.nodes;
  assert.ok(machine);
  inside = await Inside.on(machine);
});

after(() => cluster?.down());

const deaths: readonly Death[] = types.flatMap((type) =>
  [0, 3, 15].flatMap((seconds) =>
    (["always", "no"] as const).map((restarts) => ({ type, seconds, restarts })),
  ),
);

for (const death of deaths)
  test(`H18: a kubelet of Type ${death.type} that dies after ${death.seconds} s with the new file gets the old one back, with Restart=${death.restarts}`, async () => {
    revision += 1;
    await inside.fresh();
    inside.node.mount(revision, content);
    await getsItsFileBack(inside, revision, death);
  });
