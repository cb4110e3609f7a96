/**
 * Delivers one Secret to two clusters. The API servers are real, and the controller has exactly the
 * rights of manifests/.
 */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { auditOf } from "../cluster/audit.ts";
import { stays, until } from "../cluster/await.ts";
import { may } from "../cluster/rights.ts";
import { dataKubeconfig } from "../controller/guest.ts";
import { document, pullSecret } from "../controller/plane.ts";
import { granted } from "../controller/granted.ts";
import * as fleet from "./fleet.ts";
import { fleetSecret, labelled, untilPlaced, untilState } from "./fleet.ts";

let home: fleet.Home;
let a: fleet.GuestCluster;
let b: fleet.GuestCluster;
let controller: ReturnType<typeof fleet.startFleet> | undefined;

before(async () => {
  [home, a, b] = await Promise.all([fleet.startHome(), fleet.startGuest(), fleet.startGuest()]);
});
after(() => {
  for (const member of [home, a, b]) member?.cluster.down();
});
afterEach(async () => {
  await controller?.[Symbol.asyncDispose]();
  controller = undefined;
  await fleet.clear(home, [a, b]);
});

const dataOf = (word: string) => ({
  ".dockerconfigjson": Buffer.from(document({ "quay.io": `robot:${word}` })).toString("base64"),
});
const source = (word: string) =>
  home.cluster.apply(pullSecret("source-pull-secret", document({ "quay.io": `robot:${word}` })));
const label = (namespace: string, value: string) =>
  home.cluster.kubectl("label", "namespace", namespace, `capi-pull-secret${value}`, "--overwrite");

/** Declares and labels both clusters, creates the object and starts the controller. */
async function begin(spec: Parameters<typeof fleetSecret>[0] = {}): Promise<void> {
  await fleet.declareGuest(home, "guest-a", a.kubeconfig, labelled);
  await fleet.declareGuest(home, "guest-b", b.kubeconfig, labelled);
  await home.cluster.apply(fleetSecret(spec));
  controller = fleet.startFleet(home);
}

async function placedIn(word: string, ...guests: readonly fleet.GuestCluster[]): Promise<void> {
  for (const guest of guests) await untilPlaced(guest, dataOf(word));
}

const versions = () =>
  Promise.all(
    [a, b].map(async (guest) => (await fleet.targetIn(guest))?.metadata?.resourceVersion),
  );

test("K1, K2, K3, K6, K8, K9: delivers the Secret to each labelled cluster with one object, follows its changes, and touches no other Secret", async () => {
  const since = new Date().toISOString();
  await fleet.declareGuest(home, "guest-a", a.kubeconfig, labelled);
  await fleet.declareGuest(home, "guest-b", b.kubeconfig, {});
  await home.cluster.apply(fleetSecret());
  controller = fleet.startFleet(home);
  // The FleetSecret exists before its source Secret.
  await until("the object waits for the Secret", async () => {
    const conditions = (await fleet.objectIn(home))?.status?.conditions;
    return conditions?.find(({ type }) => type === "Stalled")?.reason === "SourceMissing";
  });
  await source("1");
  await placedIn("1", a);
  await untilState(home, "guest-a", "Done");
  assert.deepEqual(
    auditOf(b.cluster, { since }).filter(
      ({ userAgent }) => userAgent === "global-pull-secret-fleet",
    ),
    [],
  );
  await source("2");
  await placedIn("2", a);
  await label("guest-b", "=true");
  await placedIn("2", a, b);
  await until("the object is Ready", async () => {
    const conditions = (await fleet.objectIn(home))?.status?.conditions;
    return conditions?.find(({ type }) => type === "Ready")?.status === "True";
  });
  // At rest the controller writes nothing anywhere.
  const rest = new Date().toISOString();
  await stays(
    "nothing is written",
    async () => (await fleet.objectIn(home))?.status?.summary === "2/2",
    3000,
  );
  for (const { cluster } of [a, b])
    assert.deepEqual(
      auditOf(cluster, { since: rest }).filter(
        ({ userAgent, verb }) => userAgent === "global-pull-secret-fleet" && verb !== "watch",
      ),
      [],
    );
  const refused = auditOf(home.cluster, { since }).filter(
    ({ user, code }) => user.endsWith(":global-pull-secret-fleet") && code === 403,
  );
  assert.deepEqual(refused, []);
  assert.ok(!controller.output().includes(Buffer.from("robot:2").toString("base64")));
});

test("repairs a placed Secret after an edit, an added key, another type or a deletion", async () => {
  await begin();
  await source("1");
  await placedIn("1", a, b);
  const its = ["secret", "pull-secret", "-n", "kube-system"];
  const edit = JSON.stringify({ data: { ".dockerconfigjson": "e30=", other: "eA==" } });
  await a.cluster.kubectl("patch", ...its, "--type=merge", "-p", edit);
  await placedIn("1", a);
  await a.cluster.kubectl("delete", ...its);
  await placedIn("1", a);
  const opaque = { ...pullSecret("source-pull-secret", ""), type: "Opaque", data: { a: "eA==" } };
  await home.cluster.kubectl("delete", "secret", "source-pull-secret", "-n", "kube-system");
  await home.cluster.apply(opaque);
  await untilPlaced(a, { a: "eA==" }, "Opaque");
  await untilPlaced(b, { a: "eA==" }, "Opaque");
});

/** Type of Secret → its keys: a custom type, and all built-in types except tokens. */
const types: Readonly<Record<string, readonly string[]>> = {
  Opaque: ["a", "b.txt"],
  "kubernetes.io/basic-auth": ["username", "password"],
  "kubernetes.io/ssh-auth": ["ssh-privatekey"],
  "kubernetes.io/tls": ["tls.crt", "tls.key"],
  "kubernetes.io/dockercfg": [".dockercfg"],
  "vendor.example/license": ["license"],
};

test("K7: copies a Secret of any type unchanged to each cluster, except a token for a single cluster", async () => {
  await begin({ rollout: { maxUnavailable: "100%" } });
  const give = async (type: string, keys: readonly string[], annotations = {}) => {
    const its = ["secret", "source-pull-secret", "-n", "kube-system", "--ignore-not-found"];
    await home.cluster.kubectl("delete", ...its);
    // Uses bytes that are not text, except for a type that requires a certain format.
    const bytes = type.endsWith("dockercfg") ? Buffer.from("{}") : Buffer.from([0, 255, 10]);
    const data = Object.fromEntries(keys.map((key) => [key, bytes.toString("base64")]));
    const metadata = { name: "source-pull-secret", namespace: "kube-system", annotations };
    await home.cluster.apply({ apiVersion: "v1", kind: "Secret", metadata, type, data });
    return data;
  };
  let last: readonly [string, Readonly<Record<string, string>>] = ["", {}];
  for (const [type, keys] of Object.entries(types)) {
    last = [type, await give(type, keys)];
    for (const guest of [a, b]) await untilPlaced(guest, last[1], type);
  }
  for (const type of ["bootstrap.kubernetes.io/token", "kubernetes.io/service-account-token"]) {
    await give(type, ["token-id"], { "kubernetes.io/service-account.name": "default" });
    await until(`${type} is refused`, async () => {
      const conditions = (await fleet.objectIn(home))?.status?.conditions;
      const stalled = conditions?.find((condition) => condition.type === "Stalled");
      return stalled?.reason === "SourceRefused" && stalled.message?.includes(type);
    });
    for (const guest of [a, b]) await untilPlaced(guest, last[1], last[0]);
  }
});

test("removes nothing when the source Secret is deleted or invalid, and sends an invalid source to no cluster", async () => {
  await begin({ removal: { grace: "0s", deadline: "1h" } });
  await source("1");
  await placedIn("1", a, b);
  const before = await versions();
  const stalled = async () =>
    (await fleet.objectIn(home))?.status?.conditions?.find(({ type }) => type === "Stalled");
  await home.cluster.apply(pullSecret("source-pull-secret", '{"auths":{"quay.io":{"auth":"%"}}}'));
  await until("the source is refused", async () => (await stalled())?.message?.includes("GPS432"));
  await home.cluster.kubectl("delete", "secret", "source-pull-secret", "-n", "kube-system");
  await until("the source is missing", async () => (await stalled())?.reason === "SourceMissing");
  const same = async () => JSON.stringify(await versions()) === JSON.stringify(before);
  await stays("nothing is removed, although the grace period is zero", same, 3000);
  await source("2");
  await placedIn("2", a, b);
});

test("reports an absent cluster as unreachable, delays no other cluster, and serves the absent cluster after its return", async () => {
  await begin();
  await source("1");
  await placedIn("1", a, b);
  await a.cluster.stopApiServer();
  await untilState(home, "guest-a", "Unreachable", "GPS438");
  await source("2");
  await placedIn("2", b);
  await a.cluster.startApiServer();
  await placedIn("2", a);
  await untilState(home, "guest-a", "Done");
});

test("changes nothing when a label is removed and restored within the grace period, and removes the Secret after the grace period", async () => {
  await begin({ removal: { grace: "1h", deadline: "1h" } });
  await source("1");
  await placedIn("1", a, b);
  const before = await versions();
  await Promise.all([label("guest-a", "-"), label("guest-b", "-")]);
  for (const name of ["guest-a", "guest-b"]) await untilState(home, name, "Leaving");
  await Promise.all([label("guest-a", "=true"), label("guest-b", "=true")]);
  for (const name of ["guest-a", "guest-b"]) await untilState(home, name, "Done");
  assert.deepEqual(await versions(), before);
  await home.cluster.apply(fleetSecret({ removal: { grace: "4s", deadline: "1h" } }));
  await label("guest-a", "-");
  await until("the Secret is deleted there", async () => (await fleet.targetIn(a)) === undefined);
  await placedIn("1", b);
});

test("when a cluster's namespace is deleted, removes the Secret after the grace period, but gives up an unreachable cluster at the deadline", async () => {
  await begin({ removal: { grace: "4s", deadline: "3s" } });
  const served = async () => {
    await placedIn("1", a, b);
    await untilState(home, "guest-a", "Done");
  };
  const forgotten = () =>
    until(
      "status does not name it",
      async () => (await fleet.stateOf(home, "guest-a")) === undefined,
    );
  await source("1");
  await served();
  const start = new Date().toISOString();
  // This also deletes the cluster's kubeconfig.
  await home.cluster.kubectl("delete", "namespace", "guest-a", "--wait=false");
  const since = await until("the cluster is leaving", async () => {
    const entry = await fleet.stateOf(home, "guest-a");
    return entry?.state === "Leaving" && entry.since;
  });
  await until("the Secret is deleted there", async () => (await fleet.targetIn(a)) === undefined);
  const deletion = await until("the deletion is audited", () =>
    auditOf(a.cluster, { since: start }).find(
      ({ userAgent, verb }) => userAgent === "global-pull-secret-fleet" && verb === "delete",
    ),
  );
  const waited = Date.parse(deletion.at) - Date.parse(since);
  assert.ok(waited >= 4000, `deleted after ${waited} ms`);
  await forgotten();

  await fleet.declareGuest(home, "guest-a", a.kubeconfig, labelled);
  await served();
  await controller?.[Symbol.asyncDispose]();
  await home.cluster.kubectl("delete", "namespace", "guest-a");
  controller = fleet.startFleet(home);
  await until("status names it", () => /"guest-a".*given up/.test(controller?.output() ?? ""), {
    seen: () => controller?.output(),
  });
  await forgotten();
  await placedIn("1", a, b);
});

test("removes the placed Secrets when the object is deleted, and waits for an absent cluster no longer than the deadline", async () => {
  await begin();
  await source("1");
  await placedIn("1", a, b);
  await b.cluster.stopApiServer();
  await untilState(home, "guest-b", "Unreachable");
  const its = ["fleetsecret", "pull-secret", "-n", "kube-system"];
  await home.cluster.kubectl("delete", ...its, "--timeout=90s");
  assert.equal(await fleet.targetIn(a), undefined);
  await until("the log reports it", () => /guest-b.*given up/.test(controller?.output() ?? ""));
  await b.cluster.startApiServer();
  assert.notEqual(await fleet.targetIn(b), undefined);
});

const certificate = "/var/lib/kubelet/pki/kubelet-client-current.pem";
/**
 * Kubeconfig settings that the controller refuses, each with its error code. They cover every field
 * that can name a file.
 */
const hostile: readonly (readonly [code: string, user: object, cluster?: object])[] = [
  ["GPS405", {}, { server: "http://127.0.0.1:1" }],
  ["GPS406", {}, { "certificate-authority-data": undefined }],
  ["GPS407", {}, { "tls-server-name": "a/b" }],
  ["GPS408", { exec: { apiVersion: "v1", command: "/bin/touch", args: ["/tmp/x"] } }],
  ["GPS409", { "auth-provider": { name: "oidc" } }],
  ["GPS410", { tokenFile: "/var/run/secrets/kubernetes.io/serviceaccount/token" }],
  ["GPS410", { token: undefined, "client-certificate": certificate, "client-key": certificate }],
  ["GPS410", {}, { "certificate-authority": "/etc/ssl/certs/ca-certificates.crt" }],
  ["GPS411", {}, { "insecure-skip-tls-verify": true }],
  ["GPS412", {}, { "proxy-url": "http://127.0.0.1:1" }],
  ["GPS413", { as: "system:admin" }],
  ["GPS413", { "as-groups": ["system:masters"] }],
  ["GPS414", { username: "admin", password: "planted" }],
  ["GPS415", { token: undefined }],
  ["GPS416", { token: "two words" }],
  ["GPS417", { "client-certificate-data": "eA==", "client-key-data": "eA==" }],
  ["GPS418", { "new-way": {} }],
];

test("reports the code of a refused kubeconfig setting, never connects with this kubeconfig, and serves the cluster once the kubeconfig is renewed", async () => {
  // Replaces the kubeconfig of guest-a from an earlier test, with which the controller would
  // connect to guest-a.
  await fleet.declareGuest(home, "guest-a", "{}", {});
  const since = new Date().toISOString();
  const names = hostile.map(([code], at) => `${code.toLowerCase()}-${at}`);
  for (const [at, [, user, cluster]] of hostile.entries()) {
    const bad = dataKubeconfig(a.cluster, { token: "planted", ...user }, cluster);
    await fleet.declareGuest(home, names[at] ?? "", bad, labelled);
  }
  await fleet.declareGuest(home, "guest-b", b.kubeconfig, labelled);
  await home.cluster.apply(fleetSecret());
  controller = fleet.startFleet(home);
  await source("1");
  await placedIn("1", b);
  for (const [at, [code]] of hostile.entries())
    await untilState(home, names[at] ?? "", "Failed", code);
  const asked = auditOf(a.cluster, { since }).filter(
    ({ userAgent }) => userAgent === "global-pull-secret-fleet",
  );
  assert.deepEqual(asked, []);
  assert.ok(
    !(JSON.stringify(await fleet.objectIn(home)) + controller.output()).includes("planted"),
  );
  const [first = "", ...others] = names;
  await home.cluster.kubectl("label", "namespace", ...others, "capi-pull-secret-");
  await fleet.declareGuest(home, first, a.kubeconfig, labelled);
  await placedIn("1", a);
  await untilState(home, first, "Done");
  await home.cluster.kubectl("label", "namespace", first, "capi-pull-secret-");
});

const profiles = { namespaces: ["clusters"], selector: {}, clusterManagers: ["a"] };

const refusedSpecs: readonly (readonly [what: string, spec: object, message: RegExp])[] = [
  ...["global-pull-secret", "global-pull-secret-state", "global-pull-secrets"].map(
    (name) => [`${name}, ours`, { target: { name } }, /belong to each cluster/] as const,
  ),
  ["the additional's", { target: { name: "additional-pull-secret" } }, /belong to each cluster/],
  [
    "a selector of nothing",
    { clusterAPI: { namespaceSelector: { matchLabels: {} } } },
    /at least 1 properties/,
  ],
  ["no clusters at all", { clusterAPI: undefined }, /no clusters are selected/],
  [
    "profiles without a selector",
    { clusterProfiles: { ...profiles, selector: undefined } },
    /selector/,
  ],
  [
    "profiles without a manager",
    { clusterProfiles: { ...profiles, clusterManagers: [] } },
    /at least 1/,
  ],
  [
    "profiles through ClusterResourceSet",
    { via: "ClusterResourceSet", clusterProfiles: profiles },
    /does not support clusterProfiles/,
  ],
  ["no concurrency", { rollout: { maxUnavailable: "0%" } }, /percentage from 1%/],
  ["no duration", { removal: { grace: "soon" } }, /duration such as/],
];

test("lets the fleet's account read Secrets by name, list none, and write only the fleet's objects in the management cluster", async () => {
  const account = "system:serviceaccount:kube-system:global-pull-secret-fleet";
  const can = (namespace: string, verb: string, what: string) =>
    may(home.cluster, account, verb, what, namespace);
  assert.equal(await can("guest-a", "get", "secrets/guest-a-kubeconfig"), true);
  for (const namespace of ["guest-a", "default", "kube-system"])
    for (const verb of ["list", "watch", "create", "update", "patch", "delete"]) {
      assert.equal(await can(namespace, verb, "secrets"), false, `${verb} in ${namespace}`);
      if (verb !== "list" && verb !== "watch")
        for (const what of ["pods", "daemonsets.apps", "namespaces"])
          assert.equal(await can(namespace, verb, what), false, `${verb} ${what}`);
    }
  const name = "global-pull-secret-fleet";
  const writes = (await granted(home, account)).filter(
    (right) => !/^(?:get|list|watch) /.test(right),
  );
  const fleetSecrets = "globalpullsecret.io/fleetsecrets";
  const lease = `coordination.k8s.io/leases kube-system/${name}`;
  const expected = [
    `create ${lease}`,
    `patch ${lease}`,
    // With these rights the controller writes conditions and renewed tokens of joined clusters.
    "patch multicluster.x-k8s.io/clusterprofiles/status global-pull-secret-clusters/*",
    "patch secrets global-pull-secret-clusters/*",
    `patch ${fleetSecrets} kube-system/*`,
    `patch ${fleetSecrets}/status kube-system/*`,
    // The Events name clusters from which the controller could not remove the Secret in time.
    "create events kube-system/*",
  ];
  assert.deepEqual(writes.toSorted(), expected.toSorted());
});

test("fills in the documented defaults of a spec", async () => {
  const { clusterAPI, secretRef, target } = fleetSecret().spec;
  const { spec: _full, ...object } = fleetSecret();
  await home.cluster.apply({ ...object, spec: { clusterAPI, secretRef, target } });
  assert.deepEqual((await fleet.objectIn(home))?.spec, {
    secretRef,
    clusterAPI: { ...clusterAPI, clusterNameLabelValue: "Namespace" },
    target: { namespace: "kube-system", name: "pull-secret" },
    via: "Direct",
    rollout: {
      maxUnavailable: "10%",
      maxFailures: "5%",
      minAvailable: "90%",
    },
    managementState: "Managed",
    conflicts: "Refuse",
    removalPolicy: "Delete",
    removal: { grace: "5m", deadline: "1h" },
  });
});

test("refuses contradictory specs and changes of immutable fields with a message from the CRD", async () => {
  for (const [what, spec, message] of refusedSpecs)
    await assert.rejects(home.cluster.apply(fleetSecret(spec, "second")), message, what);
  await home.cluster.apply(fleetSecret());
  for (const [field, spec] of Object.entries({
    target: { target: { name: "x" } },
    secretRef: { secretRef: { name: "x" } },
    via: { via: "ClusterResourceSet" as const },
  }))
    await assert.rejects(
      home.cluster.apply(fleetSecret(spec)),
      new RegExp(`${field} is immutable`),
      field,
    );
});
