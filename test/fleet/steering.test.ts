/** How a FleetSecret is held, left and taken away, and what its controller counts meanwhile. */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { auditOf, isWrite } from "../cluster/audit.ts";
import { stays, until } from "../cluster/await.ts";
import { document, pullSecret } from "../controller/plane.ts";
import * as fleet from "./fleet.ts";
import { fleetSecret, labelled, untilPlaced, untilState } from "./fleet.ts";

let home: fleet.Home;
let a: fleet.GuestCluster;
let b: fleet.GuestCluster;
let controller: ReturnType<typeof fleet.startFleet> | undefined;

before(async () => {
  [home, a, b] = await Promise.all([fleet.startHome(), fleet.startGuest(), fleet.startGuest()]);
  await fleet.declareGuest(home, "guest-a", a.kubeconfig, labelled);
  await fleet.declareGuest(home, "guest-b", b.kubeconfig, labelled);
});
after(() => {
  for (const one of [home, a, b]) one?.cluster.down();
});
afterEach(async () => {
  await controller?.[Symbol.asyncDispose]();
  controller = undefined;
  await fleet.clear(home, [a, b]);
  // A test that failed half-way may have left it unlabelled.
  await fleet.declareGuest(home, "guest-b", b.kubeconfig, labelled);
});

const documentOf = (word: string) => document({ "quay.io": `robot:${word}` });
const source = (word: string) =>
  home.cluster.apply(pullSecret("source-pull-secret", documentOf(word)));
async function placed(word: string): Promise<void> {
  const data = Buffer.from(documentOf(word)).toString("base64");
  for (const guest of [a, b]) await untilPlaced(guest, { ".dockerconfigjson": data });
}

const at = { rollout: { canary: 0, maxConcurrency: "100%" } };
const declare = (spec: Parameters<typeof fleetSecret>[0] = {}) =>
  home.cluster.apply(fleetSecret({ ...at, removal: { grace: "0s", deadline: "1h" }, ...spec }));
const drop = () =>
  home.cluster.kubectl(
    "delete",
    "fleetsecret",
    "pull-secret",
    "-n",
    "kube-system",
    "--timeout=60s",
  );

/** Our writes in a guest, in their order. */
const writesIn = ({ cluster }: fleet.GuestCluster, since: string) =>
  auditOf(cluster, { since }).filter(
    (one) => one.userAgent === "global-pull-secret-fleet" && isWrite(one),
  );

test("Paused holds every change: a rotation, a repair, a removal; Managed makes up for them", async () => {
  await declare();
  controller = fleet.startFleet(home);
  await source("1");
  await placed("1");
  await declare({ managementState: "Paused" });
  await until("it is said", async () => {
    const conditions = (await fleet.objectIn(home))?.status?.conditions;
    return conditions?.find(({ type }) => type === "Ready")?.reason === "Paused";
  });
  const since = new Date().toISOString();
  await source("2");
  await a.cluster.kubectl("delete", "secret", "pull-secret", "-n", "kube-system");
  const label = ["label", "namespace", "guest-b", "--overwrite"];
  await home.cluster.kubectl(...label, "capi-pull-secret-");
  await untilState(home, "guest-b", "Leaving");
  await stays(
    "nothing is written",
    () => [a, b].every((guest) => writesIn(guest, since).length === 0),
    4000,
  );
  await home.cluster.kubectl(...label, "capi-pull-secret=true");
  await declare();
  await placed("2");
});

test("removalPolicy Orphan leaves what was placed; the object made anew knows its own, and takes it away", async () => {
  await declare({ removalPolicy: "Orphan" });
  controller = fleet.startFleet(home);
  await source("1");
  await placed("1");
  const since = new Date().toISOString();
  await drop();
  await placed("1");
  assert.deepEqual(
    [a, b].map((guest) => writesIn(guest, since).length),
    [0, 0],
  );
  await declare();
  await source("2");
  await placed("2");
  await untilState(home, "guest-a", "Done");
  await drop();
  for (const guest of [a, b]) assert.equal(await fleet.targetIn(guest), undefined);
});

test("a removal obeys maxConcurrency: with one at a time the second begins when the first is over", async () => {
  const deletions = async (maxConcurrency: number | string): Promise<number> => {
    await declare({ rollout: { canary: 0, maxConcurrency } });
    controller = fleet.startFleet(home);
    await source("1");
    await placed("1");
    for (const name of ["guest-a", "guest-b"]) await untilState(home, name, "Done");
    const since = new Date().toISOString();
    await drop();
    await controller[Symbol.asyncDispose]();
    const [first, second] = [a, b].map((guest) => {
      const [one, ...more] = writesIn(guest, since);
      assert.deepEqual([one?.verb, more], ["delete", []]);
      return Date.parse(one?.at ?? "");
    });
    return Math.abs((first ?? 0) - (second ?? 0));
  };
  // What is begun in one run of the loop comes within one; between two there are 200 ms at least.
  assert.ok((await deletions(1)) >= 200);
});

test("its metrics count clusters by state, and name none", async () => {
  await declare();
  controller = fleet.startFleet(home);
  await source("1");
  await placed("1");
  const { port } = controller;
  const lines = async () => {
    const answer = await fetch(`http://127.0.0.1:${await port()}/metrics`);
    const text = await answer.text();
    return text.split("\n").filter((line) => line.startsWith("global_pull_secret_fleet_"));
  };
  const found = await until(
    "two are done",
    async () => {
      const all = await lines();
      return all.includes('global_pull_secret_fleet_clusters{state="Done"} 2') && all;
    },
    { seen: lines },
  );
  // One line a state, however many clusters there are.
  assert.equal(found.length, 6, found.join("\n"));
  assert.ok(!found.join("").includes("guest"));
});

test("many changes in a row are told in status at most once in two seconds", async () => {
  await declare();
  controller = fleet.startFleet(home);
  const since = new Date().toISOString();
  const told = () =>
    auditOf(home.cluster, { since })
      .filter(({ resource, subresource }) => `${resource}/${subresource}` === "fleetsecrets/status")
      .map(({ at }) => Date.parse(at))
      .toSorted((one, other) => one - other);
  // On a quick machine a change takes a third of a second: as many as four writes of status need.
  for (let n = 1; told().length < 4 && n <= 200; n++) {
    await source(String(n));
    await placed(String(n));
  }
  await untilState(home, "guest-a", "Done");
  const all = told();
  assert.ok(all.length >= 4, "there was little to tell");
  const pauses = all.slice(1).map((at, index) => at - (all[index] ?? 0));
  // They are counted from the decision to write, and seen when the request arrives.
  assert.ok(Math.min(...pauses) > 1900, pauses.join(", "));
});

test("a FleetSecret of a namespace that is not served is left alone, and brings nothing", async () => {
  await source("1");
  const { metadata, ...object } = fleetSecret();
  await home.cluster.apply({ ...object, metadata: { ...metadata, namespace: "default" } });
  controller = fleet.startFleet(home);
  const { port } = controller;
  await until("it serves", async () => (await fetch(`http://127.0.0.1:${await port()}/readyz`)).ok);
  const its = ["fleetsecret", "pull-secret", "-n", "default"] as const;
  await stays(
    "nothing is said or done",
    async () => {
      const found = await home.cluster.get<{ metadata: object; status?: object }>(...its);
      assert.ok(found, "it is gone");
      const touched = "status" in found || "finalizers" in found.metadata;
      return !touched && (await fleet.targetIn(a)) === undefined;
    },
    4000,
  );
  await home.cluster.kubectl("delete", ...its);
});
