/** Every Type of a kubelet's unit, and every time at which it may die with the new file. */
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { getsItsFileBack, types } from "./deaths.ts";
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

/** Seconds until it dies, and whether systemd starts it again by itself; with every Type. */
const deaths = [
  [0, "always"],
  [3, "always"],
  [15, "always"],
  [3, "no"],
] as const;

test("H18: of any Type, dead at once, after 3 s or after 15 s, started again by systemd or not: the kubelet gets its old file back", async (t) => {
  for (const type of types)
    for (const [seconds, restarts] of deaths) {
      revision += 1;
      await inside.fresh();
      inside.node.mount(revision, content);
      await getsItsFileBack(inside, revision, { type, seconds, restarts });
      t.diagnostic(`${type}, after ${seconds} s, Restart=${restarts}`);
    }
});
