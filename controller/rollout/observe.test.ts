import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1DaemonSet } from "@kubernetes/client-node";
import type { ProviderScope } from "#contract/names.ts";
import type { Snapshot } from "./facts.ts";
import { agent } from "#controller/objects/agent.fixture.ts";
import type { Agent } from "#controller/objects/agent.ts";
import { daemonSet, templateDigest } from "#controller/objects/daemonset.ts";
import {
  contentDigest,
  globalSecret,
  readPublished,
  type Declared,
  type Numbered,
} from "#controller/objects/global-secret.ts";
import { noState } from "#controller/objects/state.fixture.ts";
import { stateSecret } from "#controller/objects/state.ts";
import { policyWith } from "#controller/policy/policy.fixture.ts";
import { fieldManager } from "#kube/client/ownership.ts";
import { factsOf, type Kept, nothingKept, type Observed } from "./observe.ts";
import type { AgentPod, NodeMetadata, NodeObject } from "./objects.ts";
import { content } from "./world.fixture.ts";

const target = content("u:1");
const numbered = (revision: number, changes: Partial<Numbered> = {}): Numbered => ({
  document: target.document,
  sources: target.sources,
  intent: "apply",
  salt: Buffer.alloc(32, revision),
  revision,
  ...changes,
});
const published = (changes: Partial<Declared> = {}) =>
  globalSecret({
    newest: numbered(4),
    mode: "Restart",
    served: numbered(3),
    publishedAt: 100,
    former: "",
    ...changes,
  });

type Changes = Partial<Omit<Observed, "objects" | "published">> &
  Readonly<{
    objects?: Partial<Observed["objects"]>;
    agent?: Agent;
    policy?: ReturnType<typeof policyWith>;
  }>;

/** The objects of a cluster in which revision 4 is being rolled out, with these changes. */
function facts({
  objects,
  agent: chosenAgent = agent,
  policy = policyWith(),
  ...changes
}: Changes = {}): Snapshot {
  const liveObjects = {
    global: published(),
    state: undefined,
    daemonSet: daemonSet(agent, 1),
    ...objects,
  };
  return factsOf(
    { agent: chosenAgent, policy },
    {
      objects: liveObjects,
      published: readPublished(liveObjects.global),
      target,
      now: 200,
      kept: nothingKept,
      isGuarded: true,
      isRefused: (node) => node === "refused",
      drift: "none",
      retry: "",
      ...changes,
    },
  );
}

test("recognizes the wanted content by the published salt, whatever the revision is", () => {
  const { secret, target: seen } = facts();
  assert.equal(seen.digest, secret?.digest);
  assert.equal(seen.digest, contentDigest(numbered(4)));
  for (const other of [
    content("u:2"),
    content("u:1", { sources: "{}" }),
    content("u:1", { intent: "release" }),
  ])
    assert.notEqual(facts({ target: other }).target.digest, secret?.digest);
});

const slots: readonly (readonly [
  what: string,
  declared: Partial<Declared>,
  expected: Partial<NonNullable<Snapshot["secret"]>>,
])[] = [
  ["the older revision that is still served", {}, { revision: 4, served: 3, publishedAt: 100 }],
  ["that nothing is served", { served: "nothing" }, { served: 0 }],
  ["that the newest content is served", { served: numbered(4) }, { served: 4 }],
  ["the Secret's mode", { mode: "Reread" }, { mode: "Reread" }],
  ["a withdrawal", { newest: numbered(4, { intent: "release" }) }, { intent: "release" }],
];
for (const [what, declared, expected] of slots)
  test(`reads ${what}`, () =>
    assert.partialDeepStrictEqual(
      facts({ objects: { global: published(declared) } }).secret,
      expected,
    ));

test("treats an edited Secret as absent", () => {
  const global = published();
  const owned = (keys: readonly string[]) => ({
    ...global,
    metadata: {
      managedFields: [
        {
          manager: fieldManager,
          operation: "Apply",
          fieldsV1: { "f:data": Object.fromEntries(keys.map((key) => [`f:${key}`, {}])) },
        },
      ],
    },
  });
  const keys = Object.keys(global.data ?? {});
  assert.notEqual(facts({ objects: { global: owned(keys) } }).secret, undefined);
  for (const edited of keys) {
    const { secret, target: seen } = facts({
      objects: { global: owned(keys.filter((key) => key !== edited)) },
    });
    assert.deepEqual([secret, seen.digest], [undefined, ""], edited);
  }
});

/** The live DaemonSet, with these changes of its template's annotations. */
function live(
  said: Readonly<Record<string, string | undefined>>,
  chosenAgent: Agent = agent,
): V1DaemonSet {
  const liveSet = structuredClone(daemonSet(chosenAgent, 1));
  Object.assign(liveSet.spec?.template.metadata?.annotations ?? assert.fail(), said);
  return liveSet;
}
const restartedAt = "kubectl.kubernetes.io/restartedAt";
const reread: Agent = { ...agent, delivery: { mode: "Reread" } };
const provider = (scope: ProviderScope): Agent => ({
  ...agent,
  delivery: { mode: "CredentialProvider", scope },
});
const templates: readonly (readonly [
  what: string,
  changes: Changes,
  expected: Snapshot["template"],
])[] = [
  ["a template as declared", {}, { isCurrent: true, mode: "Restart", maxUnavailable: 1 }],
  [
    "a template that has drifted",
    { drift: "some" },
    { isCurrent: false, mode: "Restart", maxUnavailable: 1 },
  ],
  [
    "another agent",
    { agent: { ...agent, image: "example.invalid/agent:2" } },
    { isCurrent: false, mode: "Restart", maxUnavailable: 1 },
  ],
  [
    "a mode that the policy changed",
    { agent: reread },
    { isCurrent: false, mode: "Restart", maxUnavailable: 1 },
  ],
  [
    "a scope that the policy changed",
    { agent: provider("Annotated"), objects: { daemonSet: daemonSet(provider("All"), 1) } },
    { isCurrent: false, mode: "CredentialProvider", maxUnavailable: 1 },
  ],
  [
    "scope Annotated as a mode of its own",
    { agent: provider("Annotated"), objects: { daemonSet: daemonSet(provider("Annotated"), 1) } },
    { isCurrent: true, mode: "CredentialProviderAnnotated", maxUnavailable: 1 },
  ],
  [
    "a kubectl rollout restart, which changes nothing in the template",
    { objects: { daemonSet: live({ [restartedAt]: "2026-01-01T00:00:00Z" }) } },
    { isCurrent: true, mode: "Restart", maxUnavailable: 1 },
  ],
  [
    "a template without a digest, restarted by kubectl",
    {
      objects: {
        daemonSet: live({
          "globalpullsecret.io/template": undefined,
          [restartedAt]: "2026-01-01T00:00:00Z",
        }),
      },
    },
    { isCurrent: false, mode: "Restart", maxUnavailable: 1 },
  ],
  [
    "the budget of the rolling update apart from the template",
    { objects: { daemonSet: daemonSet(agent, 7) } },
    { isCurrent: true, mode: "Restart", maxUnavailable: 7 },
  ],
  ["no template without a DaemonSet", { objects: { daemonSet: undefined } }, undefined],
];
for (const [what, changes, expected] of templates)
  test(`reads ${what}`, () => assert.deepEqual(facts(changes).template, expected));

const podOf = (node: string, changes: Partial<AgentPod> = {}): AgentPod => ({
  uid: `pod-of-${node}`,
  node,
  created: 1,
  isDeleting: false,
  template: templateDigest(agent),
  mode: "Restart",
  isRunning: true,
  readySince: 2,
  isUnreachable: false,
  waitingReason: undefined,
  ...changes,
});
const nodeNamed = (name: string, uid = `uid-of-${name}`): NodeMetadata => ({
  name,
  uid,
  created: 1,
  isControlPlane: false,
});
const objectOf = (name: string, nodeUid = `uid-of-${name}`): NodeObject => ({
  name,
  nodeUid,
  uid: `object-of-${name}`,
  resourceVersion: "1",
  isDeleting: false,
  order: undefined,
  report: undefined,
});

/** Each pod has the name of its position. */
function kept(
  nodes: readonly NodeMetadata[],
  { pods = [], objects = [] }: Readonly<{ pods?: AgentPod[]; objects?: NodeObject[] }>,
): Kept {
  return {
    pods: new Map(pods.map((pod, at) => [String(at), pod])),
    objects: new Map(objects.map((object) => [object.name, object])),
    nodes: new Map(nodes.map((node) => [node.name, node])),
  };
}

test("treats pods as current only if they were made from the live template after its last kubectl rollout restart", () => {
  const digest = templateDigest(agent);
  const time = "2026-01-01T00:00:00Z";
  const templates = [digest, `${digest} ${time}`, "older", ""];
  const names = templates.map((_, at) => `n${at}`);
  const pods = templates.map((template, at) => podOf(`n${at}`, { template }));
  const seen = (said: Record<string, string>) =>
    facts({
      objects: { daemonSet: live(said) },
      kept: kept(
        names.map((name) => nodeNamed(name)),
        { pods },
      ),
    }).nodes.map(({ pod }) => pod?.isCurrent);
  assert.deepEqual(seen({}), [true, false, false, false]);
  assert.deepEqual(seen({ [restartedAt]: time }), [false, true, false, false]);
});

test("joins each Node with its pod and its NodePullSecret, and leaves out pods without a Node", () => {
  const { nodes, orphans } = facts({
    kept: kept([nodeNamed("a"), nodeNamed("b")], {
      pods: [podOf("a"), podOf("gone")],
      objects: [objectOf("a")],
    }),
  });
  const joined = nodes.map(({ name, pod, object }) => [name, pod?.uid, object?.uid]);
  assert.deepEqual(joined, [
    ["a", "pod-of-a", "object-of-a"],
    ["b", undefined, undefined],
  ]);
  assert.deepEqual(orphans, []);
});

const pairs: readonly (readonly [what: string, changes: readonly Partial<AgentPod>[]])[] = [
  ["the pod that is not being deleted", [{ isDeleting: true, created: 9 }, {}]],
  ["the younger pod", [{}, { created: 9 }]],
  [
    "the younger of two pods that are being deleted",
    [{ isDeleting: true }, { isDeleting: true, created: 9 }],
  ],
];
for (const [what, [first, second]] of pairs)
  test(`takes ${what} of a Node with two pods`, () => {
    const both = [podOf("a", { ...first, uid: "other" }), podOf("a", { ...second, uid: "this" })];
    for (const pods of [both, both.toReversed()]) {
      const { nodes } = facts({ kept: kept([nodeNamed("a")], { pods }) });
      assert.equal(nodes[0]?.pod?.uid, "this");
    }
  });

test("treats the NodePullSecret of a Node that is gone, or was replaced, as an orphan", () => {
  const objects = [objectOf("a", "former"), objectOf("b"), objectOf("c", "")];
  const { nodes, orphans } = facts({
    kept: kept([nodeNamed("a"), nodeNamed("c")], { objects }),
  });
  assert.deepEqual(
    orphans.map(({ name, uid }) => [name, uid]),
    [
      ["a", "former"],
      ["b", "uid-of-b"],
    ],
  );
  assert.deepEqual(
    nodes.map(({ object }) => object?.uid),
    [undefined, "object-of-c"],
  );
});

const withRegistries = (...registries: readonly string[]) => ({
  document: JSON.stringify({
    auths: Object.fromEntries(registries.map((registry) => [registry, { auth: "eDp5" }])),
  }),
});
const removals: readonly (readonly [
  what: string,
  slots: Readonly<{ newest: readonly string[]; served: readonly string[] | undefined }>,
  after: readonly string[],
  expected: boolean,
])[] = [
  [
    "nothing if a registry is added",
    { newest: ["a.example"], served: undefined },
    ["a.example", "b.example"],
    false,
  ],
  [
    "a registry of the newest content",
    { newest: ["a.example", "b.example"], served: undefined },
    ["a.example"],
    true,
  ],
  [
    "a registry of the served content only",
    { newest: ["a.example"], served: ["b.example"] },
    ["a.example", "c.example"],
    true,
  ],
];
for (const [what, { newest, served }, after, expected] of removals)
  test(`finds that the wanted content removes ${what}`, () => {
    const global = published({
      newest: numbered(4, withRegistries(...newest)),
      served: served === undefined ? "nothing" : numbered(3, withRegistries(...served)),
    });
    const wanted = content("u:1", withRegistries(...after));
    assert.equal(facts({ objects: { global }, target: wanted }).target.removes, expected);
  });

test("computes budget and failures from the Nodes that the DaemonSet serves", () => {
  const rollout = {
    maxUnavailable: "10%",
    maxFailures: "10%",
    minIntervalSeconds: 7,
    probationSeconds: 6,
  } as const;
  const nodes = Array.from({ length: 30 }, (_, at) => nodeNamed(`n${at}`));
  const { policy } = facts({
    kept: kept(nodes, {}),
    policy: policyWith(rollout, { forgetAfterSeconds: 9 }),
  });
  const expected = { maxUnavailable: 3, maxFailures: 3, forgetAfter: 9, minInterval: 7 };
  assert.deepEqual(policy, { ...expected, probation: 6 });
  const all = facts({ policy: policyWith({ maxUnavailable: "100%" }) }).policy;
  assert.equal(all.maxUnavailable, "all");
});

test("passes on the recorded state, a pause and a retry", () => {
  const rollout = {
    revision: 4,
    since: 3,
    proved: true,
    asked: ["a"],
    failed: ["u"],
    lost: ["v"],
    served: true,
    retry: "1",
    bucketUntil: 2,
  };
  const policy = { ...policyWith(), managementState: "Paused" as const };
  const state = stateSecret({ ...noState, rollout });
  const seen = facts({ objects: { state }, policy, retry: "2" });
  assert.deepEqual(seen.state, rollout);
  assert.deepEqual([seen.isPaused, seen.retry, facts().isPaused], [true, "2", false]);
});
