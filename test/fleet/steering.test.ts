/** Pausing, refusing, orphaning and removing a FleetSecret, and the metrics of its controller. */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import { auditOf, isWrite } from "../cluster/audit.ts";
import { stays, until } from "../cluster/await.ts";
import { may } from "../cluster/rights.ts";
import { document, pullSecret } from "../controller/plane.ts";
import { TcpProxy } from "../controller/tcp-proxy.ts";
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
  for (const member of [home, a, b]) member?.cluster.down();
});
afterEach(async () => {
  await controller?.[Symbol.asyncDispose]();
  controller = undefined;
  await fleet.clear(home, [a, b]);
  // Labels the clusters again, because an earlier test might have removed the labels.
  await fleet.declareGuest(home, "guest-a", a.kubeconfig, labelled);
  await fleet.declareGuest(home, "guest-b", b.kubeconfig, labelled);
});

const documentOf = (word: string) => document({ "quay.io": `robot:${word}` });
const source = (word: string) =>
  home.cluster.apply(pullSecret("source-pull-secret", documentOf(word)));
async function placed(word: string): Promise<void> {
  const data = Buffer.from(documentOf(word)).toString("base64");
  for (const guest of [a, b]) await untilPlaced(guest, { ".dockerconfigjson": data });
}

const at = { rollout: { maxUnavailable: "100%" } };
const declare = (spec: Parameters<typeof fleetSecret>[0] = {}) =>
  home.cluster.apply(fleetSecret({ ...at, removal: { grace: "0s", deadline: "1h" }, ...spec }));
const deleteObject = () =>
  home.cluster.kubectl(
    "delete",
    "fleetsecret",
    "pull-secret",
    "-n",
    "kube-system",
    "--timeout=60s",
  );

/** The fleet controller's writes in a cluster, in order. */
const writesIn = ({ cluster }: fleet.GuestCluster, since: string) =>
  auditOf(cluster, { since }).filter(
    (request) => request.userAgent === "global-pull-secret-fleet" && isWrite(request),
  );

test("makes no rotation, repair or removal while Paused, and catches up when Managed again", async () => {
  await declare();
  controller = fleet.startFleet(home);
  await source("1");
  await placed("1");
  await declare({ managementState: "Paused" });
  await until("status reports it", async () => {
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

test("leaves the placed Secrets when an object with removalPolicy Orphan is deleted, and updates and removes these Secrets with a new object", async () => {
  await declare({ removalPolicy: "Orphan" });
  controller = fleet.startFleet(home);
  await source("1");
  await placed("1");
  const since = new Date().toISOString();
  await deleteObject();
  await placed("1");
  assert.deepEqual(
    [a, b].map((guest) => writesIn(guest, since).length),
    [0, 0],
  );
  await declare();
  await source("2");
  await placed("2");
  await untilState(home, "guest-a", "Done");
  await deleteObject();
  for (const guest of [a, b]) assert.equal(await fleet.targetIn(guest), undefined);
});

for (const [whose, isNew] of [
  ["in the process that was paused", false],
  ["in a new process, which has to connect first", true],
] as const)
  test(`performs an overdue removal in every cluster that answers, ${whose}`, async () => {
    const settings = { removal: { grace: "0s", deadline: "2s" } };
    await declare(settings);
    controller = fleet.startFleet(home);
    await source("1");
    await placed("1");
    await declare({ ...settings, managementState: "Paused" });
    for (const name of ["guest-a", "guest-b"])
      await home.cluster.kubectl("label", "namespace", name, "capi-pull-secret-");
    const isOver = async () => {
      const clusters = (await fleet.objectIn(home))?.status?.clusters ?? [];
      return (
        clusters.length === 2 &&
        clusters.every(
          ({ state, since }) => state === "Leaving" && Date.now() - Date.parse(since) > 3000,
        )
      );
    };
    await until("both clusters are leaving for longer than the deadline", isOver);
    if (isNew) {
      await controller[Symbol.asyncDispose]();
      controller = fleet.startFleet(home);
    }
    await declare(settings);
    for (const guest of [a, b])
      await until("the Secret is gone", async () => (await fleet.targetIn(guest)) === undefined);
    assert.doesNotMatch(controller.output(), /given up/);
  });

for (const [whose, isNew] of [
  ["in a process that has read both names", false],
  ["in a new process that has first read the removed name", true],
] as const)
  test(`when one of a cluster's two names is no longer selected, places the Secret again under the other name, ${whose}`, async (t) => {
    const another = "guest-a-renamed";
    t.after(() => home.cluster.kubectl("delete", "namespace", another));
    await using proxy = await TcpProxy.before(a.cluster.server);
    const kubeconfig = a.kubeconfig.replace(a.cluster.server, `https://127.0.0.1:${proxy.port}`);
    await fleet.declareGuest(home, another, kubeconfig, labelled);
    await declare();
    controller = fleet.startFleet(home);
    await source("1");
    await placed("1");
    for (const name of ["guest-a", another]) await untilState(home, name, "Done");
    if (isNew) await controller[Symbol.asyncDispose]();
    // Through the proxy, the new process reaches guest-a-renamed three seconds later than guest-a.
    proxy.late = 3000;
    const since = new Date().toISOString();
    await home.cluster.kubectl("label", "namespace", "guest-a", "capi-pull-secret-");
    if (isNew) controller = fleet.startFleet(home);
    const names = async () =>
      (await fleet.objectIn(home))?.status?.clusters?.map(({ name }) => name);
    await until("the name is gone", async () => (await names())?.includes("guest-a") === false);
    await until("the Secret is there", async () => (await fleet.targetIn(a)) !== undefined);
    await untilState(home, another, "Done");
    if (!isNew) assert.ok(!writesIn(a, since).some(({ verb }) => verb === "delete"));
    await home.cluster.kubectl("label", "namespace", another, "capi-pull-secret-");
    await until("the Secret is removed", async () => (await fleet.targetIn(a)) === undefined);
  });

const selectB = (selected: boolean) =>
  home.cluster.kubectl(
    "label",
    "namespace",
    "guest-b",
    "--overwrite",
    `capi-pull-secret${selected ? "=true" : "-"}`,
  );
const conditionOf = async (type: string) =>
  (await fleet.objectIn(home))?.status?.conditions?.find((condition) => condition.type === type);

/** Allows or forbids writing and deleting the target in the first cluster. Reading is allowed. */
async function allowWrites(allowed: boolean): Promise<void> {
  const verbs = ["get", "list", "watch", ...(allowed ? ["create", "patch", "delete"] : [])];
  const patch = JSON.stringify([{ op: "replace", path: "/rules/0/verbs", value: verbs }]);
  const name = "global-pull-secret-fleet";
  const its = ["-n", "kube-system"];
  await a.cluster.kubectl("patch", "role", name, ...its, "--type=json", "-p", patch);
  const account = `system:serviceaccount:kube-system:${name}`;
  const answer = () => may(a.cluster, account, "patch", "secrets/pull-secret", "kube-system");
  await until("the API server enforces it", async () => (await answer()) === allowed);
}

/** Milliseconds from each write in the first cluster to the next write, in order. */
function pausesSince(since: string): readonly number[] {
  const times = writesIn(a, since).map(({ at }) => Date.parse(at));
  return times.slice(1).map((at, index) => at - (times[index] ?? 0));
}

test("while a cluster refuses the write, delays no other cluster, and retries with pauses, also in a new process", async (t) => {
  t.after(() => allowWrites(true));
  await allowWrites(false);
  await declare();
  await source("1");
  const since = new Date().toISOString();
  controller = fleet.startFleet(home);
  await untilState(home, "guest-a", "Failed", "GPS439");
  const [failure] = (await fleet.objectIn(home))?.status?.failures ?? [];
  assert.deepEqual([failure?.name, failure?.reason], ["guest-a", "GPS439"]);
  assert.match(
    failure?.message ?? "",
    /^PATCH \/\S+: 403 Forbidden; allow the target to be written/,
  );
  await untilState(home, "guest-b", "Done");
  await until("the cluster got another request", () => writesIn(a, since).length > 1, {
    timeout: 20_000,
  });
  assert.ok(Math.min(...pausesSince(since)) >= 4999, pausesSince(since).join());
  assert.equal((await conditionOf("Ready"))?.reason, "Refused");
  await controller[Symbol.asyncDispose]();
  controller = fleet.startFleet(home);
  const again = new Date().toISOString();
  await until("the new process has sent a request", () => writesIn(a, again).length > 0);
  assert.equal((await conditionOf("Stalled"))?.status, "False");
  await allowWrites(true);
  await placed("1");
  for (const name of ["guest-a", "guest-b"]) await untilState(home, name, "Done");
});

test("retries a refused deletion with pauses, reports the reason, and removes the Secret once the cluster allows the deletion", async (t) => {
  t.after(() => allowWrites(true));
  await declare();
  controller = fleet.startFleet(home);
  await source("1");
  await placed("1");
  for (const name of ["guest-a", "guest-b"]) await untilState(home, name, "Done");
  await allowWrites(false);
  const since = new Date().toISOString();
  const its = ["fleetsecret", "pull-secret", "-n", "kube-system"];
  await home.cluster.kubectl("delete", ...its, "--wait=false");
  await untilState(home, "guest-a", "Leaving", "403 Forbidden");
  await until("the cluster got another request", () => writesIn(a, since).length > 1, {
    timeout: 20_000,
  });
  assert.ok(Math.min(...pausesSince(since)) >= 4999, pausesSince(since).join());
  assert.equal(await fleet.targetIn(b), undefined);
  await allowWrites(true);
  await home.cluster.kubectl("wait", ...its, "--for=delete", "--timeout=30s");
  assert.equal(await fleet.targetIn(a), undefined);
});

const mutating = "mutatingadmissionpolicybinding,mutatingadmissionpolicy";

/**
 * Creates an admission policy in the first cluster. The policy empties each `pull-secret` that a
 * client writes there.
 */
async function mutate(): Promise<void> {
  const apiVersion = "admissionregistration.k8s.io/v1";
  const metadata = { name: "empties" };
  const rule = { apiGroups: [""], apiVersions: ["v1"], resources: ["secrets"] };
  const expression = '[JSONPatch{op: "replace", path: "/data/.dockerconfigjson", value: "e30="}]';
  const spec = {
    failurePolicy: "Fail",
    reinvocationPolicy: "Never",
    matchConstraints: { resourceRules: [{ ...rule, operations: ["CREATE", "UPDATE"] }] },
    matchConditions: [{ name: "it", expression: 'object.metadata.name == "pull-secret"' }],
    mutations: [{ patchType: "JSONPatch", jsonPatch: { expression } }],
  };
  await a.cluster.apply(
    { apiVersion, kind: "MutatingAdmissionPolicy", metadata, spec },
    {
      apiVersion,
      kind: "MutatingAdmissionPolicyBinding",
      metadata,
      spec: { policyName: "empties" },
    },
  );
  const path = "/api/v1/namespaces/kube-system/secrets/pull-secret?dryRun=All";
  const how = { manager: "probe", force: true };
  await until("the API server enforces it", async () => {
    const applied = await a.api.apply<V1Secret>(
      path,
      pullSecret("pull-secret", documentOf("0")),
      how,
    );
    return applied.data?.[".dockerconfigjson"] === "e30=";
  });
}

test("reports a cluster as Failed when its admission changes the content, and serves the other clusters", async (t) => {
  await selectB(false);
  t.after(() => a.cluster.kubectl("delete", mutating, "empties", "--ignore-not-found"));
  await mutate();
  await declare({ rollout: { maxUnavailable: 1, maxFailures: 0 } });
  await source("1");
  controller = fleet.startFleet(home);
  await untilState(home, "guest-a", "Failed", "GPS440");
  await selectB(true);
  await untilState(home, "guest-b", "Done");
  const readyAndStalled = async () => [
    (await conditionOf("Ready"))?.reason,
    (await conditionOf("Stalled"))?.status,
  ];
  assert.deepEqual(await readyAndStalled(), ["Refused", "False"]);
  await a.cluster.kubectl("delete", mutating, "empties");
  await placed("1");
  await untilState(home, "guest-a", "Done");
});

test("counts clusters by state in its metrics, and names no cluster", async () => {
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
  const metricLines = await until(
    "two are done",
    async () => {
      const all = await lines();
      return (
        all.includes(
          'global_pull_secret_fleet_clusters{object="kube-system/pull-secret",state="Done"} 2',
        ) && all
      );
    },
    { seen: lines },
  );
  // One line for each of the states, whatever the number of clusters.
  assert.equal(metricLines.length, 7, metricLines.join("\n"));
  assert.ok(!metricLines.join("").includes("guest"));
});

test("writes status at most once a second during many changes in a row", async () => {
  await declare();
  controller = fleet.startFleet(home);
  const since = new Date().toISOString();
  const statusWrites = () =>
    auditOf(home.cluster, { since })
      .filter(({ resource, subresource }) => `${resource}/${subresource}` === "fleetsecrets/status")
      .map(({ at }) => Date.parse(at))
      .toSorted((first, other) => first - other);
  // Makes changes until there are four status writes. On a fast machine a change takes a third of a
  // second.
  for (let n = 1; statusWrites().length < 4 && n <= 200; n++) {
    await source(String(n));
    await placed(String(n));
  }
  await untilState(home, "guest-a", "Done");
  const all = statusWrites();
  assert.ok(all.length >= 4, "there was too little to report");
  const pauses = all.slice(1).map((at, index) => at - (all[index] ?? 0));
  // 1 s minus 1 ms, because times are cut to milliseconds.
  assert.ok(Math.min(...pauses) >= 999, pauses.join(", "));
});

test("ignores a FleetSecret in a namespace that is not served, and delivers nothing", async () => {
  await source("1");
  const { metadata, ...object } = fleetSecret();
  await home.cluster.apply({ ...object, metadata: { ...metadata, namespace: "default" } });
  controller = fleet.startFleet(home);
  const { port } = controller;
  await until(
    "the controller serves",
    async () => (await fetch(`http://127.0.0.1:${await port()}/readyz`)).ok,
  );
  const its = ["fleetsecret", "pull-secret", "-n", "default"] as const;
  await stays(
    "nothing is reported or done",
    async () => {
      const stored = await home.cluster.get<{ metadata: object; status?: object }>(...its);
      assert.ok(stored, "it is gone");
      const touched = "status" in stored || "finalizers" in stored.metadata;
      return !touched && (await fleet.targetIn(a)) === undefined;
    },
    4000,
  );
  await home.cluster.kubectl("delete", ...its);
});
