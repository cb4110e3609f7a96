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
  command: ["node"],
  args: [`--password=${password}`, password],
  env: [{ name: "TOKEN", value: password }],
  resources: { limits: { memory: "64Mi" } },
};
const template = {
  metadata: metadata("x"),
  spec: {
    nodeSelector: { os: "linux" },
    initContainers: [{ name: "init", image: "registry.example/gps:1" }],
    containers: [container],
  },
};
const [before, at] = ["2026-11-23T08:00:00Z", "2026-11-23T09:00:00Z"];
const running = { name: "agent", image: container.image, ready: true, restartCount: 2 };
const ended = { exitCode: 3, reason: "Error", message: `GPS206: ${password}`, finishedAt: at };
const report = { revision: 8, result: "Failed", message: `why: ${password}` };

const event = (kind: string, name: string, more: object) => ({
  metadata: metadata("e"),
  involvedObject: { kind, name },
  type: "Warning",
  reason: "Rejected",
  message: `GPS101 it is ${password}`,
  ...more,
});
const events = [
  event("Secret", "additional-pull-secret", { count: 3, lastTimestamp: at, eventTime: before }),
  event("GlobalPullSecret", "cluster", { eventTime: at }),
  event("Pod", "global-pull-secret-syncer-7f", {
    count: 1,
    lastTimestamp: before,
    series: { count: 4, lastObservedTime: at },
  }),
  event("Pod", "other", {}),
];

function cluster(): FakeCluster {
  const fake = new FakeCluster();
  const { metadata: named } = whole;
  fake.objects.set(globalPullSecretPath, {
    ...whole,
    metadata: { ...named, ...metadata("cluster"), creationTimestamp: at },
  });
  fake.objects.set(deployment.path, {
    metadata: metadata("c"),
    spec: { replicas: 2, template },
    status: { readyReplicas: 1 },
  });
  fake.objects.set(owned.daemonSet, {
    metadata: metadata("d"),
    spec: { updateStrategy: { type: "RollingUpdate" }, minReadySeconds: 30, template },
    status: { numberReady: 1 },
  });
  fake.objects.set(`${collections.pods}/global-pull-secret-syncer-7f`, {
    metadata: metadata("global-pull-secret-syncer-7f"),
    spec: { nodeName: "n7-a1b2" },
    status: {
      phase: "Running",
      reason: "Evicted",
      message: password,
      conditions: [{ type: "Ready", status: "False" }],
      initContainerStatuses: [
        { ...running, state: { running: { startedAt: at } }, lastState: { terminated: ended } },
      ],
      containerStatuses: [
        { ...running, state: { waiting: { reason: "Back", message: `no ${password}` } } },
      ],
    },
  });
  fake.objects.set(`${collections.pods}/other`, { metadata: metadata("other") });
  const spec = { revision: 8, digest: "d1gest", attempt: 9 };
  fake.objects.set(`${collections.nodePullSecrets}/n7-a1b2`, {
    metadata: metadata("n7-a1b2"),
    spec,
    status: { ...report, digest: "d1gest" },
  });
  fake.objects.set(`${collections.nodePullSecrets}/n8`, { metadata: metadata("n8"), spec });
  fake.objects.set("/api/v1/nodes/n7-a1b2", {
    metadata: metadata("n7-a1b2"),
    spec: { unschedulable: true },
    status: {
      conditions: [
        { type: "DiskPressure", status: "False" },
        { type: "Ready", status: "True" },
      ],
      nodeInfo: { ...nodeInfo, machineID: password },
    },
  });
  fake.objects.set("/api/v1/nodes/n8", { metadata: metadata("n8") });
  for (const [name, object] of events.entries())
    fake.objects.set(`${collections.events}/${name}`, object);
  fake.objects.set(additionalPath, pullSecret({ "quay.io": `robot:${password}` }));
  return fake;
}

const nodeInfo = {
  kubeletVersion: "v1.36.3+k3s1",
  containerRuntimeVersion: "containerd://2.2.9",
  osImage: "Debian 12",
  kernelVersion: "6.1.0",
  architecture: "amd64",
};

const its = (name: string) => ({
  name,
  annotations: { "globalpullsecret.io/retry": "since [redacted] leaked" },
});
const shownContainer = {
  ...container,
  args: ["--password=[redacted]", "[redacted]"],
  env: ["TOKEN"],
};
const shownTemplate = {
  metadata: its("x"),
  nodeSelector: { os: "linux" },
  containers: [{ name: "init", image: container.image, env: [] }, shownContainer],
};
const shownEvent = (about: string, more: object) => ({
  about,
  type: "Warning",
  reason: "Rejected",
  message: "GPS101 it is [redacted]",
  last: at,
  ...more,
});

/** The whole bundle, but for the versions and the time. */
const expected = {
  summary: {
    conditions: [
      "Ready=False (RollingOut)",
      "Reconciling=True (RollingOut)",
      "Stalled=False (RollingOut)",
      "NodesLeftOut=True (NodesCannotBeServed)",
    ],
    nodes: whole.status?.nodes,
    kubelets: { "v1.36.3+k3s1": 1, "": 1 },
  },
  missing: ["secret global-pull-secret", "secret global-pull-secret-state"].map((what) => ({
    what,
    why: "not found",
  })),
  globalPullSecret: {
    metadata: { ...its("cluster"), generation: 3, creationTimestamp: at },
    spec: whole.spec,
    status: whole.status,
  },
  deployment: {
    metadata: its("c"),
    replicas: 2,
    template: shownTemplate,
    status: { readyReplicas: 1 },
  },
  daemonSet: {
    metadata: its("d"),
    updateStrategy: { type: "RollingUpdate" },
    minReadySeconds: 30,
    template: shownTemplate,
    status: { numberReady: 1 },
  },
  pods: [
    {
      metadata: its("global-pull-secret-syncer-7f"),
      node: "n7-a1b2",
      phase: "Running",
      reason: "Evicted",
      message: "[redacted]",
      conditions: [{ type: "Ready", status: "False" }],
      containers: [
        {
          ...running,
          state: { running: { startedAt: at } },
          lastState: { terminated: { ...ended, message: "GPS206: [redacted]" } },
        },
        {
          ...running,
          state: { waiting: { reason: "Back", message: "no [redacted]" } },
          lastState: {},
        },
      ],
    },
  ],
  nodes: [{ name: "n7-a1b2", unschedulable: true, ready: "True", ...nodeInfo }, { name: "n8" }],
  nodePullSecrets: [
    {
      name: "n7-a1b2",
      spec: { revision: 8, attempt: 9 },
      status: { ...report, message: "why: [redacted]" },
    },
    { name: "n8", spec: { revision: 8, attempt: 9 } },
  ],
  events: [
    shownEvent("Secret/additional-pull-secret", { count: 3 }),
    shownEvent("GlobalPullSecret/cluster", {}),
    shownEvent("Pod/global-pull-secret-syncer-7f", { count: 4 }),
  ],
  secrets: [
    {
      name: "additional-pull-secret",
      type: "kubernetes.io/dockerconfigjson",
      keys: [".dockerconfigjson"],
    },
  ],
};

test("contains the helpful data, but not the planted value in any form", async () => {
  const { code, out, err } = await call(["support-bundle"], { cluster: cluster() });
  assert.deepEqual([code, err], [0, ""]);
  const pair = Buffer.from(`robot:${password}`).toString("base64");
  for (const secret of [password, "d1gest", "s3cret", "pl4nted", pair, btoa(password)])
    assert.ok(!out.includes(secret), secret);
  const { made, ...bundle } = JSON.parse(out) as Readonly<{ made: object }>;
  assert.deepEqual(Object.keys(made), ["plugin", "node", "at"]);
  assert.deepEqual(bundle, expected);
});

test("lists the objects that the caller is not allowed to read, and shows all other objects", async () => {
  const fake = cluster();
  for (const path of [additionalPath, deployment.path]) fake.refusals.set(path, 403);
  const { code, out } = await call(["support-bundle"], { cluster: fake });
  assert.equal(code, 0);
  const { missing, secrets, nodes } = JSON.parse(out) as typeof expected;
  assert.deepEqual([secrets, nodes.length], [[], 2]);
  const what = ["deployment", "secret additional-pull-secret"];
  assert.deepEqual(
    missing.map((object) => object.what),
    [...what, ...expected.missing.map((object) => object.what)],
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
