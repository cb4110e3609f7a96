/**
 * Two clusters that can reach each other, with one real node each. Our programs run as pods in one
 * cluster and serve the other cluster. The tests install each program as its page in docs/extend
 * describes. The tests are in the fixtures, by subject. All fixtures use the same clusters, so
 * their order matters.
 */
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { buildImage } from "../cluster/kit/image.ts";
import { fleetByChart } from "./two-clusters/fleet.fixture.ts";
import { hosted, hostedGuestDeleted } from "./two-clusters/hosted.fixture.ts";
import { joined } from "./two-clusters/joined.fixture.ts";
import type { BothClusters } from "./two-clusters/rig.ts";
import { syncing } from "./two-clusters/syncing.fixture.ts";

let clusters: readonly Cluster[] = [];
let rig: BothClusters | undefined;

before(async () => {
  const [management, guest] = await Promise.all([
    startCluster({ nodes: 1 }),
    startCluster({ nodes: 1 }),
  ]);
  clusters = [management, guest];
  await management.connect(guest);
  const [image] = await Promise.all([buildImage(management), buildImage(guest)]);
  rig = { management, guest, image };
});
after(() => clusters.forEach((cluster) => cluster.down()));

const on = (): BothClusters => rig ?? assert.fail("no clusters");

hosted(on);
fleetByChart(on);
syncing(on);
joined(on);
hostedGuestDeleted(on);
