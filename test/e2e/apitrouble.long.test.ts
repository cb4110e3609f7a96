/**
 * Stops the API server for two minutes at every stage of a rollout. faults.test.ts tests one stage,
 * for ten seconds.
 */
import { after, before, test } from "node:test";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { outlives, stages } from "./outage.ts";
import * as product from "./product.ts";

let cluster: Cluster;

before(async () => {
  cluster = await startCluster();
  await product.installProduct(cluster, { settings: 1 });
});
after(() => cluster?.down());

for (const stage of stages) {
  test(`loses nothing and repeats nothing when the API server is away for two minutes at the ${stage}`, async () => {
    await outlives(cluster, stage, 120);
  });
}
