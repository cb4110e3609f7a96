/**
 * Faults that users can meet, on one cluster of three nodes. Each test begins and ends without
 * additional-pull-secret, so each test starts with revision 1.
 */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import * as names from "#contract/names.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { awayAtWithdrawal } from "./away.fixture.ts";
import { kubeletFails } from "./failing.fixture.ts";
import { rolloutAndWithdrawalUnderKills, untouched } from "./kills.ts";
import { outlives } from "./outage.ts";
import * as product from "./product.ts";

let cluster: Cluster | undefined;
const on = (): Cluster => cluster ?? assert.fail("no cluster");

before(async () => {
  cluster = await startCluster({ nodes: 3, missedAfter: 30 });
  await product.installProduct(cluster, { settings: 1 });
});
after(() => cluster?.down());
let broken = false;
// After a failed test, lets every next test fail at once. Without this check the next tests would
// also fail, but only after minutes of waiting.
beforeEach(() => assert.ok(!broken, "an earlier test failed"));
afterEach((t) => {
  broken ||= (t as { passed?: boolean }).passed === false;
});
// Deletes the Events, so that a later test does not find the Event of an earlier test.
afterEach(() => on().kubectl("delete", "events", "-n", names.namespace, "--all"));

test("loses nothing and repeats nothing when the API server is away for ten seconds in a rollout", () =>
  outlives(on(), "wave", 10));

awayAtWithdrawal(on);

test("H20, H21: finishes a rollout and a withdrawal when the controller is killed twice in each", async (t) => {
  untouched(on());
  await rolloutAndWithdrawalUnderKills(on(), 2, t);
});

kubeletFails(on);
