import assert from "node:assert/strict";
import { test } from "node:test";
import { collections, globalPullSecretPath, owned } from "#kube/client/paths.ts";
import { additionalPath, call, FakeCluster, pullSecret, refusal } from "../fake.fixture.ts";
import { whole } from "../object.fixture.ts";
import { deployment } from "../removal/objects.ts";

const password = "pl4nted-s3cret";

/** Metadata with the planted value in every field that other clients can write. */
const metadata = (name: string) => ({
  name,
  annotations: {
    "kubectl.kubernetes.io/last-applied-configuration": `{"data":"${password}"}`,
    "globalpullsecret.io/retry": `since ${password} leaked`,
    mine: password,
  },
  labels: { mine: password },
  managedFields: [{ manager: password, fieldsV1: { [`f:${password}`]: {} } }],
});
const container = {
  name: "agent",
  image: "registry.example/gps:1",
  args: [`--password=${password}`, password],
  env: [{ name: "TOKEN", value: password }],
};
const ended = { exitCode: 3, message: `GPS206 /host/kubelet: ${password}` };

function cluster(): FakeCluster {
  const fake = new FakeCluster();
  const template = { metadata: metadata("x"), spec: { containers: [container] } };
  const { metadata: named } = whole;
  fake.objects.set(globalPullSecretPath, {
    ...whole,
    metadata: { ...named, ...metadata("cluster") },
  });
  fake.objects.set(deployment.path, { metadata: metadata("c"), spec: { template } });
  fake.objects.set(owned.daemonSet, { metadata: metadata("d"), spec: { template } });
  fake.objects.set(`${collections.pods}/global-pull-secret-syncer-7f`, {
    metadata: metadata("global-pull-secret-syncer-7f"),
    spec: { nodeName: "n7-a1b2" },
    status: {
      phase: "Running",
      message: password,
      containerStatuses: [
        { name: "agent", image: container.image, state: { terminated: ended }, lastState: {} },
      ],
    },
  });
  fake.objects.set(`${collections.pods}/other`, { metadata: metadata("other") });
  fake.objects.set(`${collections.nodePullSecrets}/n7-a1b2`, {
    metadata: metadata("n7-a1b2"),
    spec: { revision: 8, digest: "d1gest", attempt: 9 },
    status: { revision: 8, digest: "d1gest", result: "Failed", message: `why: ${password}` },
  });
  fake.objects.set("/api/v1/nodes/n7-a1b2", {
    metadata: metadata("n7-a1b2"),
    status: { nodeInfo: { kubeletVersion: "v1.36.3+k3s1", osImage: "Debian 12" } },
  });
  fake.objects.set(`${collections.events}/e1`, {
    metadata: metadata("e1"),
    involvedObject: { kind: "Secret", name: "additional-pull-secret" },
    type: "Warning",
    reason: "Rejected",
    message: `GPS101 it is ${password}`,
  });
  fake.objects.set(additionalPath, pullSecret({ "quay.io": `robot:${password}` }));
  return fake;
}

type Bundle = Readonly<{
  missing: readonly Readonly<{ what: string; why: string }>[];
  pods: readonly Readonly<{ metadata: object; containers: readonly object[] }>[];
  nodes: readonly object[];
  nodePullSecrets: readonly object[];
  events: readonly Readonly<{ message: string }>[];
  secrets: readonly object[];
  deployment: Readonly<{ template: Readonly<{ containers: readonly object[] }> }>;
}>;

test("contains the helpful data, but not the planted value in any form", async () => {
  const { code, out, err } = await call(["support-bundle"], { cluster: cluster() });
  assert.deepEqual([code, err], [0, ""]);
  const pair = Buffer.from(`robot:${password}`).toString("base64");
  for (const secret of [password, "d1gest", "s3cret", "pl4nted", pair, btoa(password)])
    assert.ok(!out.includes(secret), secret);
  const bundle = JSON.parse(out) as Bundle;
  assert.deepEqual(bundle.nodes, [
    { name: "n7-a1b2", kubeletVersion: "v1.36.3+k3s1", osImage: "Debian 12" },
  ]);
  assert.deepEqual(bundle.nodePullSecrets, [
    {
      name: "n7-a1b2",
      spec: { revision: 8, attempt: 9 },
      status: { revision: 8, result: "Failed", message: "why: [redacted]" },
    },
  ]);
  assert.equal(bundle.pods.length, 1);
  assert.deepEqual(bundle.pods[0]?.metadata, {
    name: "global-pull-secret-syncer-7f",
    annotations: { "globalpullsecret.io/retry": "since [redacted] leaked" },
  });
  assert.deepEqual(bundle.pods[0]?.containers, [
    {
      name: "agent",
      image: "registry.example/gps:1",
      state: { terminated: { exitCode: 3, message: "GPS206 /host/kubelet: [redacted]" } },
      lastState: {},
    },
  ]);
  assert.deepEqual(bundle.deployment.template.containers, [
    {
      name: "agent",
      image: "registry.example/gps:1",
      args: ["--password=[redacted]", "[redacted]"],
      env: ["TOKEN"],
    },
  ]);
  assert.equal(bundle.events[0]?.message, "GPS101 it is [redacted]");
  assert.deepEqual(bundle.secrets, [
    {
      name: "additional-pull-secret",
      type: "kubernetes.io/dockerconfigjson",
      keys: [".dockerconfigjson"],
    },
  ]);
});

test("names a failed node that no longer exists", async () => {
  const fake = cluster();
  const failures = [{ node: "n9-c3d4", message: "it is away", since: "2026-11-23T09:00:00Z" }];
  fake.objects.set(globalPullSecretPath, { ...whole, status: { ...whole.status, failures } });
  const { out } = await call(["support-bundle"], { cluster: fake });
  const { globalPullSecret } = JSON.parse(out) as { globalPullSecret: typeof whole };
  assert.equal(globalPullSecret.status?.failures?.[0]?.node, "n9-c3d4");
});

test("lists the objects that the caller is not allowed to read, and shows all other objects", async () => {
  const fake = cluster();
  for (const path of [additionalPath, deployment.path]) fake.refusals.set(path, 403);
  const { code, out } = await call(["support-bundle"], { cluster: fake });
  assert.equal(code, 0);
  const { missing, secrets, nodes } = JSON.parse(out) as Bundle;
  assert.deepEqual([secrets, nodes.length], [[], 1]);
  assert.deepEqual(
    missing.map(({ what }) => what),
    [
      "deployment",
      "secret additional-pull-secret",
      "secret global-pull-secret",
      "secret global-pull-secret-state",
    ],
  );
  assert.match(missing[0]?.why ?? "", /403/);
});

test("prints no bundle if the cluster does not answer", async () => {
  const fake = cluster();
  fake.get = (path: string) => Promise.reject(refusal(0, "GET", path));
  const { code, err } = await call(["support-bundle"], { cluster: fake });
  assert.equal(code, 1);
  assert.match(err, /no answer/);
});

test("begins with versions, the time and a summary", async () => {
  const { out } = await call(["support-bundle"], { cluster: cluster() });
  const bundle = JSON.parse(out) as Record<string, Record<string, unknown>>;
  assert.deepEqual(Object.keys(bundle).slice(0, 2), ["made", "summary"]);
  assert.deepEqual(Object.keys(bundle["made"] ?? {}), ["plugin", "node", "at"]);
  assert.deepEqual(bundle["summary"]?.["kubelets"], { "v1.36.3+k3s1": 1 });
});
