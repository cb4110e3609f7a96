import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubernetesObject } from "@kubernetes/client-node";
import fc from "fast-check";
import { keyOf } from "#contract/grant.ts";
import { messageOf, messageKinds } from "#contract/termination-message.ts";
import { agent } from "#controller/objects/agent.fixture.ts";
import { container } from "#controller/objects/container.ts";
import { isAgent, keepPod, modeOf, templateOf, type AgentPod } from "./pods.ts";

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
const granted = {
  "globalpullsecret.io/template": "0123456789abcdef",
  "globalpullsecret.io/mode": "Restart",
  "globalpullsecret.io/revision": "7",
  "globalpullsecret.io/digest": "hrVi2SSPqz1B74UnNkWNPBE9jNRIBR4J5ZS0UTr5DOg",
  "globalpullsecret.io/since": "2026-01-01T00:00:03Z",
  "globalpullsecret.io/word": "true",
};
const grant = {
  revision: 7,
  digest: "hrVi2SSPqz1B74UnNkWNPBE9jNRIBR4J5ZS0UTr5DOg",
  since: "2026-01-01T00:00:03Z",
  word: true,
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
const agentStatus = (state: object, lastState: object = {}) => ({
  name: "agent",
  ready: true,
  restartCount: 1,
  image: "example.invalid/agent:1",
  imageID: "",
  state,
  lastState,
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
      annotations: granted,
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
    name: "global-pull-secret-syncer-x7k2p",
    uid: "11111111-2222-4333-8444-555555555555",
    node: "node-a",
    created: seconds(0),
    resourceVersion: "4711",
    isDeleting: false,
    template: "0123456789abcdef",
    mode: "Restart",
    probation: undefined,
    grant,
    ready: { is: true, since: at(5) },
    unreachable: undefined,
    terminationMessage: undefined,
    lastExit: undefined,
    waitingReason: undefined,
    message: undefined,
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
    { node: "node-b", ready: { is: false, since: "none" } },
  ],
  ["a deletion that has begun", { metadata: { deletionTimestamp: at(9) } }, { isDeleting: true }],
  [
    "the probation of the agent's own flags, whatever containers others add",
    {
      spec: {
        nodeName: "node-a",
        containers: [{ name: "proxy", args: ["--probation", "1s"] }, container(agent, "digest")],
      },
    },
    { probation: 5 },
  ],
  [
    "no unknown mode",
    { metadata: { annotations: { ...granted, "globalpullsecret.io/mode": "Later" } } },
    { mode: undefined, grant },
  ],
  [
    "no grant, mode or template of a pod without annotations",
    { metadata: { annotations: undefined } },
    { grant: undefined, mode: undefined, template: "" },
  ],
  [
    "a grant that was revoked",
    {
      metadata: {
        annotations: {
          ...granted,
          "globalpullsecret.io/revision": "0",
          "globalpullsecret.io/digest": "",
          "globalpullsecret.io/word": undefined,
        },
      },
    },
    { grant: { ...grant, revision: 0, digest: "", word: false } },
  ],
  [
    "a pod that is older than a kubectl rollout restart as a pod of another template",
    { metadata: { annotations: { ...granted, "kubectl.kubernetes.io/restartedAt": at(1) } } },
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
    { ready: { is: false, since: at(7) }, unreachable: undefined },
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
    { ready: { is: true, since: at(5) }, unreachable: at(8) },
  ],
  [
    "no condition of a pod that no kubelet has seen",
    { status: { conditions: undefined, containerStatuses: undefined } },
    { ready: { is: false, since: "none" }, unreachable: undefined, terminationMessage: undefined },
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

test("recognizes an agent's pod only by the DaemonSet that controls it", () => {
  assert.equal(isAgent({ metadata: { ownerReferences: [owner] } }), true);
  assert.equal(isAgent({}), false);
});

const ended = (message: string | undefined, finishedAt: unknown = at(4)) => ({
  terminated: { exitCode: 0, message, finishedAt },
});
for (const kind of messageKinds)
  test(`reads the termination message ${kind} of a container that was started again`, () => {
    const message = messageOf("GPS200 a line", { kind, key: keyOf(grant), journal: 6 });
    const lastState = ended(message);
    const status = { containerStatuses: [agentStatus(running, lastState)] };
    const { terminationMessage, lastExit, message: line } = keepPodWith({ status });
    const { revision, digest, since } = grant;
    const read = kind === "released" ? "proved" : kind;
    assert.deepEqual(terminationMessage, { kind: read, revision, digest, since, journal: 6 });
    assert.deepEqual([lastExit, line], [seconds(4), "GPS200 a line"]);
  });

const proved = messageOf("GPS200 a line", { kind: "proved", key: keyOf(grant), journal: 7 });
const endings: readonly (readonly [
  what: string,
  containerStatuses: readonly object[],
  expected: Partial<AgentPod>,
])[] = [
  [
    "the latest exit when the container has not been started again",
    [agentStatus(ended(proved, at(9)), ended("an older one"))],
    { lastExit: seconds(9), message: "GPS200 a line" },
  ],
  [
    "no termination message of a container that others put beside the agent",
    [{ ...agentStatus(running, ended(proved)), name: "proxy" }, agentStatus(running)],
    { terminationMessage: undefined, lastExit: undefined, message: undefined },
  ],
  [
    "the agent's termination message when others put a container before it",
    [{ ...agentStatus(running), name: "proxy" }, agentStatus(running, ended(proved))],
    { lastExit: seconds(4), message: "GPS200 a line" },
  ],
  [
    "no termination message of another program",
    [agentStatus(running, ended("OOMKilled"))],
    { terminationMessage: undefined, lastExit: seconds(4), message: "OOMKilled" },
  ],
  [
    "an exit without a message",
    [agentStatus(running, ended(undefined))],
    { terminationMessage: undefined, lastExit: seconds(4), message: undefined },
  ],
  [
    "no time of an exit whose time is malformed",
    [agentStatus(running, ended("x", "soon"))],
    { lastExit: undefined },
  ],
];
for (const [what, containerStatuses, expected] of endings)
  test(`reads ${what}`, () =>
    assert.partialDeepStrictEqual(keepPodWith({ status: { containerStatuses } }), expected));

test("keeps one line of at most 300 characters of a message", () => {
  const message = `${"m".repeat(2000)}\nGPS999 another line`;
  const containerStatuses = [agentStatus(running, ended(message))];
  assert.equal(keepPodWith({ status: { containerStatuses } }).message, "m".repeat(300));
  const short = [agentStatus(running, ended("one\ntwo"))];
  assert.equal(keepPodWith({ status: { containerStatuses: short } }).message, "one");
});

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
    status: { containerStatuses: [agentStatus(running, ended(proved))] },
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
  assert.ok(JSON.stringify(ofPod).length < 1000);
});

test("law: never throws, whatever one of our pods contains", () => {
  const text = fc.oneof(fc.string(), fc.constantFrom(at(1), "True", "agent", proved));
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
      terminated: fc.record({ message: text, finishedAt: text }),
    },
    { requiredKeys: [] },
  );
  const containerStatuses = fc.array(fc.record({ name: text, state, lastState: state }));
  const annotations = fc.dictionary(fc.constantFrom(...Object.keys(granted)), text);
  fc.assert(
    fc.property(conditions, containerStatuses, annotations, (some, statuses, said) => {
      const agentPod = keepPodWith({
        metadata: { annotations: said },
        status: { conditions: some, containerStatuses: statuses, initContainerStatuses: statuses },
      });
      assert.ok((agentPod.message?.length ?? 0) <= 300);
      assert.match(agentPod.waitingReason ?? "A", /^[A-Za-z]{1,64}$/);
    }),
  );
});

test("reads template and mode from a template's metadata as from a pod's", () => {
  assert.equal(templateOf(granted), "0123456789abcdef");
  assert.equal(modeOf(granted), "Restart");
  assert.deepEqual([templateOf(undefined), modeOf(undefined)], ["", undefined]);
});
