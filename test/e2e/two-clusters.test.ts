/**
 * Two clusters with one real node each that can reach each other. The programs that serve one
 * cluster from the other run as pods. The tests install each program as its page describes. The
 * tests are in the fixtures, by subject. They share the clusters, so their order matters.
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
after(() => clusters.forEach((one) => one.down()));

const on = (): BothClusters => rig ?? assert.fail("no clusters");

hosted(on);
fleetByChart(on);
syncing(on);
joined(on);
hostedGuestDeleted(on);
