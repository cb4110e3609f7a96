/**
 * Slow, broken or hostile clusters beside a healthy cluster. The hostile clusters flood their
 * watches with events and bytes, send answers that take much memory, answer very slowly, or store
 * nothing. The controller, with its Deployment's limits, spends little CPU and memory on them, and
 * serves the healthy cluster.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, afterEach, before, test } from "node:test";
import { clusterProfileVersion } from "#api/cluster-profile.ts";
import { clusterManager, clustersNamespace } from "#contract/joined.ts";
import { auditOf } from "../cluster/audit.ts";
import { until } from "../cluster/await.ts";
import { installCrd } from "../clusters/inventory.ts";
import { untilCondition } from "../clusters/clusters.ts";
import { document, pullSecret } from "../controller/plane.ts";
import type { Manner } from "../harness/api/manners.ts";
import type { FakeServer } from "../harness/api/server.ts";
import * as fleet from "./fleet.ts";
import { fleetSecret, labelled, untilPlaced, untilState } from "./fleet.ts";

const seconds = 15;

let home: fleet.Home;
let real: fleet.GuestCluster;
let fake: FakeServer;
let controller: ReturnType<typeof fleet.startFleet> | undefined;
const hostile: string[] = [];

before(async () => {
  [home, real] = await Promise.all([fleet.startHome(), fleet.startGuest()]);
  fake = await fleet.startFakes();
});
after(async () => {
  for (const member of [home, real]) member?.cluster.down();
  await fake?.[Symbol.asyncDispose]();
});
afterEach(async () => {
  await controller?.[Symbol.asyncDispose]();
  controller = undefined;
  await fleet.clear(home, [real]);
  const names = hostile.splice(0);
  if (names.length > 0)
    await home.cluster.kubectl("label", "namespace", ...names, "capi-pull-secret-");
});

const documentOf = (word: string) => document({ "quay.io": `robot:${word}` });
async function untilFollowed(word: string): Promise<void> {
  await home.cluster.apply(pullSecret("source-pull-secret", documentOf(word)));
  const data = Buffer.from(documentOf(word)).toString("base64");
  await untilPlaced(real, { ".dockerconfigjson": data });
}

async function addFake(name: string, manner: Manner): Promise<void> {
  hostile.push(name);
  fake.become(name, manner);
  await fleet.declareGuest(home, name, fake.kubeconfig(name), labelled);
}

/** CPU time so far in seconds, and resident memory in MiB. */
function usageOf(pid: number) {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(")"))
    .split(" ")
    .slice(12, 14)
    .map(Number);
  const resident = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return { processor: (user + system) / 100, mebibytes: Number(resident) / 1024 };
}

for (const manner of ["floods", "bloats"] as const)
  test(`spends little processor time and memory on a cluster whose watch ${manner}, reports this cluster's problem, and serves the other cluster`, async (t) => {
    const name = `ill-${manner}`;
    await addFake(name, manner);
    await fleet.declareGuest(home, "real", real.kubeconfig, labelled);
    await home.cluster.apply(fleetSecret({ rollout: { maxUnavailable: "100%" } }));
    controller = fleet.startFleet(home, { asDeployed: true });
    await untilFollowed("1");
    const poured = fake.poured;
    await until("the cluster floods its watches", () => fake.poured > poured);
    const { pid } = controller;
    const [before, since] = [usageOf(pid), new Date()];
    const asked = fake.requests(name).length;
    await untilFollowed("2");
    const passed = () => (Date.now() - since.getTime()) / 1000;
    await until("the time is over", () => passed() >= seconds, { every: 250 });
    const [now, took] = [usageOf(pid), passed()];
    const usage = {
      processor: (now.processor - before.processor) / took,
      mebibytes: now.mebibytes,
      there: fake.requests(name).length - asked,
      here: auditOf(home.cluster, { since: since.toISOString() }).filter(
        ({ user, resource }) => user.endsWith(":global-pull-secret-fleet") && resource !== "leases",
      ).length,
    };
    t.diagnostic(JSON.stringify(usage));
    assert.equal(controller.exited(), undefined);
    assert.ok(usage.processor < 0.1, JSON.stringify(usage));
    assert.ok(usage.mebibytes < 200, JSON.stringify(usage));
    // After each of its growing pauses, the controller sends one list and one watch, and reads at
    // most twenty events.
    assert.ok(usage.there < 40, JSON.stringify(usage));
    assert.ok(usage.here < 10 * took, JSON.stringify(usage));
    const entry = (await fleet.objectIn(home))?.status?.clusters?.find(
      (cluster) => cluster.name === name,
    );
    assert.match(entry?.reason ?? "", /^GPS460: /, JSON.stringify(entry));
  });

/** Manner of a hostile cluster → the cluster's final status. */
const quiet = {
  drips: ["Unreachable", "GPS438"],
  stutters: ["Done", ""],
  ends: ["Done", ""],
  forgets: ["Unreachable", "GPS461"],
} as const;

test("sends few requests to clusters that answer very slowly, end watches at once or store nothing, and serves the other cluster", async (t) => {
  const manners = Object.keys(quiet) as (keyof typeof quiet)[];
  for (const manner of manners) await addFake(`ill-${manner}`, manner);
  await fleet.declareGuest(home, "real", real.kubeconfig, labelled);
  const canaries = {
    matchExpressions: [
      { key: "kubernetes.io/metadata.name", operator: "NotIn" as const, values: ["real"] },
    ],
  };
  await home.cluster.apply(fleetSecret({ rollout: { maxUnavailable: 1, canaries } }));
  controller = fleet.startFleet(home, { asDeployed: true });
  const over = Date.now() + seconds * 1000;
  await untilFollowed("1");
  await until("the time is over", () => Date.now() >= over, { every: 250 });
  const requestsOf = (manner: string) => fake.requests(`ill-${manner}`).length;
  const asked = manners.map((manner) => [manner, requestsOf(manner)] as const);
  t.diagnostic(JSON.stringify(asked));
  for (const [manner, requests] of asked) {
    const [state, reason] = quiet[manner];
    await untilState(home, `ill-${manner}`, state, reason);
    // The controller sends one list and one watch after each of six pauses, and at most five
    // writes.
    assert.ok(requests < 30, `${manner}: ${requests}`);
    await until(`it ${manner}, and gets another request`, () => requestsOf(manner) > 1);
  }
  await untilFollowed("2");
});

test("spends little memory on a joined cluster whose policies are huge, reports this problem, and serves the other cluster", async (t) => {
  const name = "ill-swells";
  fake.become(name, "swells");
  const its = { name, namespace: clustersNamespace };
  const { clusters } = JSON.parse(fake.kubeconfig(name)) as { clusters: { cluster: object }[] };
  const accessProviders = [{ name: "secretreader", cluster: clusters[0]?.cluster }];
  await installCrd(home.cluster);
  await home.cluster.apply(
    { apiVersion: "v1", kind: "Secret", metadata: its, stringData: { token: "fake" } },
    {
      apiVersion: clusterProfileVersion,
      kind: "ClusterProfile",
      metadata: { ...its, labels: { "x-k8s.io/cluster-manager": clusterManager } },
      spec: { clusterManager: { name: clusterManager }, displayName: name },
    },
  );
  const profile = ["clusterprofile", name, "-n", clustersNamespace];
  const status = JSON.stringify({ status: { accessProviders } });
  const patch = ["--subresource=status", "--type=merge", "-p", status];
  await home.cluster.kubectl("patch", ...profile, ...patch);
  await fleet.declareGuest(home, "real", real.kubeconfig, labelled);
  await home.cluster.apply(fleetSecret());
  controller = fleet.startFleet(home, { asDeployed: true });
  await untilFollowed("1");
  await untilCondition(
    home.cluster,
    name,
    ["ControlPlaneHealthy", "Unknown"],
    /the answer has more than 10000 values$/,
  );
  const before = fake.requests(name).length;
  // Changes the profile, so that the controller observes the cluster again.
  await home.cluster.kubectl("label", ...profile, "look=again");
  await until("it is observed again", () => fake.requests(name).length > before);
  await untilFollowed("2");
  const { mebibytes } = usageOf(controller.pid);
  t.diagnostic(`${mebibytes} MiB`);
  assert.equal(controller.exited(), undefined);
  assert.ok(mebibytes < 200, `${mebibytes} MiB`);
  await home.cluster.kubectl("delete", ...profile);
});
