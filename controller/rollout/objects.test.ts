import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubernetesObject } from "@kubernetes/client-node";
import fc from "fast-check";
import {
  keepNode,
  keepObject,
  keepPod,
  modeOf,
  nodePullSecret,
  templateOf,
  type AgentPod,
} from "./objects.ts";
import { mayHaveEntries } from "./release.ts";

type Fields = Record<string, unknown>;
type Changes = Readonly<{ metadata?: Fields; spec?: Fields; status?: Fields }>;

const owner = {
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  name: "global-pull-secret-syncer",
  uid: "5e4c",
  controller: true,
  blockOwnerDeletion: true,
};
const annotations = {
  "globalpullsecret.io/template": "0123456789abcdef",
  "globalpullsecret.io/mode": "Restart",
};
const condition = (type: string, status: string, lastTransitionTime: string, reason?: string) => ({
  type,
  status,
  lastTransitionTime,
  lastProbeTime: null,
  ...(reason !== undefined && { reason }),
});
const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;
const seconds = (second: number) => Date.parse(at(second)) / 1000;
const agentStatus = (state: object) => ({
  name: "agent",
  ready: true,
  restartCount: 1,
  image: "example.invalid/agent:1",
  imageID: "",
  state,
});
const running = { running: { startedAt: at(2) } };

/** A pod as an API server returns it, with these changes. */
const pod = ({ metadata, spec, status }: Changes = {}): KubernetesObject =>
  ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "global-pull-secret-syncer-x7k2p",
      generateName: "global-pull-secret-syncer-",
      namespace: "kube-system",
      uid: "11111111-2222-4333-8444-555555555555",
      resourceVersion: "4711",
      creationTimestamp: at(0),
      labels: { name: "global-pull-secret-syncer", "controller-revision-hash": "6d5f" },
      annotations,
      ownerReferences: [owner],
      ...metadata,
    },
    spec: {
      nodeName: "node-a",
      containers: [{ name: "agent" }],
      volumes: [
        { name: "systemd", hostPath: { path: "/run/systemd" } },
        { name: "kubelet", hostPath: { path: "/var/lib/kubelet" } },
      ],
      ...spec,
    },
    status: {
      phase: "Running",
      conditions: [
        condition("PodScheduled", "True", at(0)),
        condition("ContainersReady", "True", at(5)),
        condition("Ready", "True", at(5)),
      ],
      containerStatuses: [agentStatus(running)],
      initContainerStatuses: [{ name: "injected", state: { terminated: { reason: "Completed" } } }],
      ...status,
    },
  }) as unknown as KubernetesObject;

const keepPodWith = (changes: Changes = {}): AgentPod =>
  keepPod(pod(changes)) ?? assert.fail("not kept");

test("keeps the parts of a pod that decisions need", () => {
  assert.deepEqual(keepPodWith(), {
    uid: "11111111-2222-4333-8444-555555555555",
    node: "node-a",
    created: seconds(0),
    isDeleting: false,
    template: "0123456789abcdef",
    mode: "Restart",
    isRunning: true,
    readySince: seconds(5),
    isUnreachable: false,
    waitingReason: undefined,
  });
});

const affinity = (values: unknown) => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [
        {
          matchExpressions: [{ key: "type", operator: "NotIn", values: ["virtual-kubelet"] }],
          matchFields: [{ key: "metadata.name", operator: "In", values }],
        },
      ],
    },
  },
});
const cases: readonly (readonly [what: string, changes: Changes, expected: Partial<AgentPod>])[] = [
  [
    "the node that an unbound pod is meant for",
    { spec: { nodeName: undefined, affinity: affinity(["node-b"]) }, status: { conditions: [] } },
    { node: "node-b", readySince: undefined },
  ],
  ["a deletion that has begun", { metadata: { deletionTimestamp: at(9) } }, { isDeleting: true }],
  [
    "no unknown mode",
    { metadata: { annotations: { ...annotations, "globalpullsecret.io/mode": "Later" } } },
    { mode: undefined },
  ],
  [
    "no mode or template of a pod without annotations",
    { metadata: { annotations: undefined } },
    { mode: undefined, template: "" },
  ],
  [
    "a pod that is older than a kubectl rollout restart as a pod of another template",
    { metadata: { annotations: { ...annotations, "kubectl.kubernetes.io/restartedAt": at(1) } } },
    { template: `0123456789abcdef ${at(1)}` },
  ],
  [
    "a pod that is not Ready",
    {
      status: {
        conditions: [
          condition("ContainersReady", "False", at(7)),
          condition("Ready", "False", at(7)),
        ],
      },
    },
    { readySince: undefined, isUnreachable: false },
  ],
  [
    "a pod that is Ready since an unknown time",
    { status: { conditions: [{ type: "Ready", status: "True" }] } },
    { readySince: 0, isUnreachable: false },
  ],
  [
    "an unreachable node: its containers are Ready, but the pod is not",
    {
      status: {
        conditions: [
          condition("ContainersReady", "True", at(5)),
          condition("Ready", "False", at(8)),
        ],
      },
    },
    { readySince: undefined, isUnreachable: true },
  ],
  [
    "no condition of a pod that no kubelet has seen",
    { status: { conditions: undefined, containerStatuses: undefined } },
    { readySince: undefined, isUnreachable: false, isRunning: false },
  ],
  [
    "that the agent's container does not run, whatever containers others put beside it",
    {
      status: {
        containerStatuses: [
          { ...agentStatus(running), name: "proxy" },
          agentStatus({ terminated: { exitCode: 1 } }),
        ],
      },
    },
    { isRunning: false },
  ],
];
for (const [what, changes, expected] of cases)
  test(`keeps ${what}`, () => assert.partialDeepStrictEqual(keepPodWith(changes), expected));

const strangers: readonly (readonly [what: string, changes: Changes])[] = [
  ["without an owner", { metadata: { ownerReferences: undefined } }],
  ["of another DaemonSet", { metadata: { ownerReferences: [{ ...owner, name: "other" }] } }],
  ["of a Job with our name", { metadata: { ownerReferences: [{ ...owner, kind: "Job" }] } }],
  [
    "that the DaemonSet does not control",
    { metadata: { ownerReferences: [{ ...owner, controller: false }] } },
  ],
  ["that is meant for no node", { spec: { nodeName: undefined } }],
  ["whose affinity names no node", { spec: { nodeName: undefined, affinity: affinity([]) } }],
];
for (const [what, changes] of strangers)
  test(`does not keep a pod ${what}, although the pod has the label`, () =>
    assert.equal(keepPod(pod(changes)), undefined));

const waiting = (reason: string) => ({ waiting: { reason, message: "not kept" } });
const first = (state: object) => ({ name: "injected", state });
const reasons: readonly (readonly [what: string, status: Fields, reason: string | undefined])[] = [
  [
    "the container's reason",
    { containerStatuses: [agentStatus(waiting("ImagePullBackOff"))] },
    "ImagePullBackOff",
  ],
  [
    "the reason of an init container that another program added, while the agent's container waits",
    {
      initContainerStatuses: [first(waiting("CreateContainerError"))],
      containerStatuses: [agentStatus(waiting("PodInitializing"))],
    },
    "CreateContainerError",
  ],
  [
    "no reason while such an init container runs",
    {
      initContainerStatuses: [first(running)],
      containerStatuses: [agentStatus(waiting("PodInitializing"))],
    },
    undefined,
  ],
  [
    "the scheduler's reason",
    {
      conditions: [condition("PodScheduled", "False", at(0), "Unschedulable")],
      containerStatuses: undefined,
    },
    "Unschedulable",
  ],
  ["no text with spaces", { containerStatuses: [agentStatus(waiting("not one word"))] }, undefined],
  [
    "no reason that is a very long word",
    { containerStatuses: [agentStatus(waiting("A".repeat(65)))] },
    undefined,
  ],
];
for (const [what, status, reason] of reasons)
  test(`keeps the reason why a pod does not start: ${what}`, () =>
    assert.equal(keepPodWith({ status }).waitingReason, reason));

test("keeps no reference to an object of the pod, so that the pod's memory can be freed", () => {
  const object = pod({
    status: { containerStatuses: [agentStatus(waiting("ImagePullBackOff"))] },
  });
  const parts = new Set<object>();
  const collect = (value: unknown, into: (part: object) => void): void => {
    if (typeof value !== "object" || value === null) return;
    into(value);
    for (const part of Object.values(value)) collect(part, into);
  };
  collect(object, (part) => parts.add(part));
  const ofPod = keepPod(object);
  collect(ofPod, (part) => assert.ok(!parts.has(part), JSON.stringify(part)));
  assert.ok(JSON.stringify(ofPod).length < 400);
});

test("law: never throws, whatever one of our pods contains", () => {
  const text = fc.oneof(fc.string(), fc.constantFrom(at(1), "True", "agent"));
  const conditions = fc.array(
    fc.record(
      {
        type: fc.constantFrom("Ready", "ContainersReady", "PodScheduled"),
        status: text,
        lastTransitionTime: text,
        reason: text,
      },
      { requiredKeys: [] },
    ),
  );
  const state = fc.record(
    {
      waiting: fc.record({ reason: text }),
      running: fc.record({ startedAt: text }),
    },
    { requiredKeys: [] },
  );
  const containerStatuses = fc.array(fc.record({ name: text, state }));
  const anyAnnotations = fc.dictionary(fc.constantFrom(...Object.keys(annotations)), text);
  fc.assert(
    fc.property(conditions, containerStatuses, anyAnnotations, (some, statuses, said) => {
      const agentPod = keepPodWith({
        metadata: { annotations: said },
        status: { conditions: some, containerStatuses: statuses, initContainerStatuses: statuses },
      });
      assert.match(agentPod.waitingReason ?? "A", /^[A-Za-z]{1,64}$/);
    }),
  );
});

test("reads template and mode from a template's metadata as from a pod's", () => {
  assert.equal(templateOf(annotations), "0123456789abcdef");
  assert.equal(modeOf(annotations), "Restart");
  assert.deepEqual([templateOf(undefined), modeOf(undefined)], ["", undefined]);
});

const nodeMetadata = { name: "node-a", uid: "n1", creationTimestamp: new Date(at(1)) };

test("keeps a Node's name, uid, time and role", () => {
  const kept = { name: "node-a", uid: "n1", created: seconds(1), isControlPlane: false };
  assert.deepEqual(keepNode({ metadata: nodeMetadata }), kept);
  const labels = { "node-role.kubernetes.io/control-plane": "" };
  const metadata = { ...nodeMetadata, labels };
  assert.deepEqual(keepNode({ metadata }), { ...kept, isControlPlane: true });
});

const order = { revision: 7, digest: "d", attempt: 9 };
const status = {
  ...order,
  result: "Proved",
  code: "GPS200",
  message: "in force",
  mode: "Restart",
  version: "1",
  since: at(3),
  time: at(4),
};
const report = {
  ...status,
  result: "Proved",
  mode: "Restart",
  since: seconds(3),
  time: seconds(4),
};
/** A NodePullSecret as an API server returns it, with these parts. */
const stored = (parts: object): KubernetesObject => {
  const created = nodePullSecret({ name: "node-a", uid: "n1" });
  const metadata = { ...created.metadata, uid: "o1", resourceVersion: "12" };
  return { ...created, metadata, ...parts };
};

test("creates a NodePullSecret that is deleted with its Node, and that asks for nothing", () => {
  const kept = { name: "node-a", nodeUid: "n1", uid: "o1", resourceVersion: "12" };
  const empty = { isDeleting: false, order: undefined, report: undefined };
  assert.deepEqual(keepObject(stored({})), { ...kept, ...empty });
  const metadata = { name: "node-a", deletionTimestamp: "2026-01-02T03:04:05Z" };
  assert.equal(keepObject(stored({ metadata })).isDeleting, true);
  const [owner] = stored({}).metadata?.ownerReferences ?? [];
  assert.deepEqual(owner, { apiVersion: "v1", kind: "Node", name: "node-a", uid: "n1" });
  const other = { apiVersion: "v1", kind: "ConfigMap", name: "node-a", uid: "c1" };
  const shared = stored({ metadata: { name: "node-a", ownerReferences: [other, owner] } });
  assert.equal(keepObject(shared).nodeUid, "n1");
});

test("keeps a NodePullSecret's order and report, and counts other forms as absent", () => {
  assert.partialDeepStrictEqual(keepObject(stored({ spec: order, status })), { order, report });
  for (const odd of [undefined, null, {}, { ...status, revision: "7" }, { ...status, result: "" }])
    assert.equal(keepObject(stored({ status: odd })).report, undefined);
  assert.equal(keepObject(stored({ metadata: { name: "node-a" } })).nodeUid, "");
});

const remains: readonly (readonly [what: string, parts: object, expected: boolean])[] = [
  ["was never asked and has reported nothing", {}, false],
  ["was asked and has reported nothing", { spec: order }, true],
  ["has reported served content without being asked", { status: { ...status, attempt: 0 } }, true],
  ["has refused", { spec: order, status: { ...status, result: "Refused" } }, true],
  [
    "has confirmed a later release",
    { spec: order, status: { ...status, revision: 8, result: "Removed" } },
    false,
  ],
  ["has confirmed this release", { spec: order, status: { ...status, result: "Removed" } }, false],
  [
    "has confirmed another content of the same revision",
    { spec: order, status: { ...status, digest: "e", result: "Removed" } },
    true,
  ],
  [
    "was asked again after it had confirmed an earlier release",
    { spec: order, status: { ...status, revision: 6, result: "Removed" } },
    true,
  ],
];
for (const [what, parts, expected] of remains)
  test(`${expected ? "keeps" : "deletes"} the NodePullSecret of a node that ${what}`, () =>
    assert.equal(mayHaveEntries(keepObject(stored(parts))), expected));
