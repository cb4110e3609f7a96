import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1DaemonSet } from "@kubernetes/client-node";
import fc from "fast-check";
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
import {
  budgetNodes,
  factsOf,
  failuresAllowed,
  withdrawsSource,
  type Observed,
} from "./observe.ts";
import { noNodes } from "./nodes.ts";
import type { AgentPod } from "./pods.ts";
import { content, nothingLeft } from "./world.fixture.ts";

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
    daemonSet: daemonSet(agent),
    ...objects,
  };
  return factsOf(
    { agent: chosenAgent, policy },
    {
      objects: liveObjects,
      published: readPublished(liveObjects.global),
      target,
      pods: [],
      nodes: noNodes,
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
  const liveSet = structuredClone(daemonSet(chosenAgent));
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
  ["a template as declared", {}, { isCurrent: true, mode: "Restart" }],
  ["a template that has drifted", { drift: "some" }, { isCurrent: false, mode: "Restart" }],
  [
    "another agent",
    { agent: { ...agent, image: "example.invalid/agent:2" } },
    { isCurrent: false, mode: "Restart" },
  ],
  ["a mode that the policy changed", { agent: reread }, { isCurrent: false, mode: "Restart" }],
  [
    "a scope that the policy changed",
    { agent: provider("Annotated"), objects: { daemonSet: daemonSet(provider("All")) } },
    { isCurrent: false, mode: "CredentialProvider" },
  ],
  [
    "scope Annotated as a mode of its own",
    { agent: provider("Annotated"), objects: { daemonSet: daemonSet(provider("Annotated")) } },
    { isCurrent: true, mode: "CredentialProviderAnnotated" },
  ],
  [
    "a kubectl rollout restart, which changes nothing in the template",
    { objects: { daemonSet: live({ [restartedAt]: "2026-01-01T00:00:00Z" }) } },
    { isCurrent: true, mode: "Restart" },
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
    { isCurrent: false, mode: "Restart" },
  ],
  ["no template before the first publication", { objects: { daemonSet: undefined } }, undefined],
  [
    "a deleted DaemonSet as needed while nodes must still confirm a withdrawal",
    { objects: { daemonSet: undefined }, target: nothingLeft },
    { isCurrent: false, mode: undefined },
  ],
];
for (const [what, changes, expected] of templates)
  test(`reads ${what}`, () => assert.deepEqual(facts(changes).template, expected));

test("treats pods as current only if they were made from the live template after its last kubectl rollout restart", () => {
  const digest = templateDigest(agent);
  const time = "2026-01-01T00:00:00Z";
  const pods = [digest, `${digest} ${time}`, "older", ""].map((template) => ({ template }));
  const seen = (said: Record<string, string>) =>
    facts({ objects: { daemonSet: live(said) }, pods: pods as AgentPod[] }).pods.map(
      ({ isCurrent }) => isCurrent,
    );
  assert.deepEqual(seen({}), [true, false, false, false]);
  assert.deepEqual(seen({ [restartedAt]: time }), [false, true, false, false]);
});

const by = (...names: readonly string[]) =>
  JSON.stringify(Object.fromEntries(names.map((name, at) => [`r${at}.example`, name])));
const withdrawals: readonly (readonly [
  what: string,
  slots: Readonly<{ newest: string; served: string | undefined }>,
  after: string,
  accepted: readonly string[],
  expected: Snapshot["target"]["withdraws"],
])[] = [
  [
    "none while all sources supply something",
    { newest: by("additional"), served: by("additional") },
    by("additional"),
    [],
    { newest: false, served: false },
  ],
  [
    "both if they contain a source that is gone",
    { newest: by("additional", "a"), served: by("a") },
    by("additional"),
    [],
    { newest: true, served: true },
  ],
  [
    "only the served slot if only this slot contains the source",
    { newest: by("additional"), served: by("a") },
    by("additional"),
    [],
    { newest: false, served: true },
  ],
  [
    "none for a source that another source overrides, but that is still accepted",
    { newest: by("a"), served: by("a") },
    by("additional"),
    ["a"],
    { newest: false, served: false },
  ],
  [
    "none if the served slot is empty",
    { newest: by("additional"), served: undefined },
    by("additional"),
    [],
    { newest: false, served: false },
  ],
];
for (const [what, { newest, served }, after, accepted, expected] of withdrawals)
  test(`finds which slots contain a withdrawn source: ${what}`, () => {
    const global = published({
      newest: numbered(4, { sources: newest }),
      served: served === undefined ? "nothing" : numbered(3, { sources: served }),
    });
    const remembered = Object.fromEntries(accepted.map((id) => [id, "{}"]));
    const state = stateSecret({ ...noState, accepted: remembered });
    const { withdraws } = facts({
      objects: { global, state },
      target: content("u:1", { sources: after }),
    }).target;
    assert.deepEqual(withdraws, expected);
  });

test("law: unchanged sources withdraw nothing, and malformed sources supply nothing", () => {
  const sources = fc
    .dictionary(fc.string(), fc.constantFrom("original", "additional", "a"))
    .map((suppliers) => JSON.stringify(suppliers));
  fc.assert(
    fc.property(sources, fc.string(), (text, odd) => {
      assert.equal(withdrawsSource(text, text, []), false);
      assert.equal(withdrawsSource(undefined, text, []), false);
      assert.equal(withdrawsSource(text, undefined, []), text !== "{}");
      assert.equal(withdrawsSource(text, "{]", []), text !== "{}");
      withdrawsSource(odd, text, []);
      withdrawsSource(text, odd, []);
    }),
  );
  for (const odd of ["null", "1", '"a"', "{]"])
    assert.equal(withdrawsSource(odd, "{}", []), odd === '"a"');
});

const budgets: readonly (readonly [budget: number | string, desired: number, nodes: number])[] = [
  [1, 0, 1],
  [3, 2, 3],
  [0, 5, 1],
  ["1%", 0, 1],
  ["1%", 100, 1],
  ["1%", 101, 2],
  ["10%", 25, 3],
  ["50%", 3, 2],
  ["99%", 1, 1],
];
for (const [budget, desired, nodes] of budgets)
  test(`gives ${nodes} nodes when the budget is ${budget} of ${desired}`, () =>
    assert.equal(budgetNodes(budget, desired), nodes));

const failures: readonly (readonly [most: number | string, desired: number, nodes: number])[] = [
  [0, 5, 0],
  [2, 1, 2],
  ["1%", 20, 0],
  ["10%", 25, 2],
  ["100%", 3, 3],
  ["50%", 0, 0],
];
for (const [most, desired, nodes] of failures)
  test(`allows ${nodes} failed nodes when maxFailures is ${most} of ${desired} nodes`, () =>
    assert.equal(failuresAllowed(most, desired), nodes));

test("law: a budget is at least one node, and never less than its percentage", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 99 }), fc.nat(10_000), (percent, desired) => {
      const nodes = budgetNodes(`${percent}%`, desired);
      assert.ok(nodes >= 1 && nodes >= (percent * desired) / 100);
      assert.ok(nodes === 1 || nodes - 1 < (percent * desired) / 100);
      assert.ok(failuresAllowed(`${percent}%`, desired) <= (percent * desired) / 100);
    }),
  );
});

test("computes budget and failures from the nodes that should have an agent", () => {
  const counted = { ...daemonSet(agent), status: { desiredNumberScheduled: 30 } } as V1DaemonSet;
  const rollout = {
    maxUnavailable: "10%",
    maxFailures: "10%",
    minIntervalSeconds: 7,
    probationSeconds: 6,
  } as const;
  const { policy, desired } = facts({
    objects: { daemonSet: counted },
    policy: policyWith(rollout, { forgetAfterSeconds: 9 }),
  });
  const expected = { maxUnavailable: 3, maxFailures: 3, forgetAfter: 9, minInterval: 7 };
  assert.deepEqual([desired, policy], [30, { ...expected, probation: 6 }]);
  const all = facts({ policy: policyWith({ maxUnavailable: "100%" }) }).policy;
  assert.equal(all.maxUnavailable, "all");
});

test("passes on the recorded state, a pause and a retry", () => {
  const rollout = { revision: 4, word: true, base: 3, halted: true, failed: ["u"] };
  const policy = { ...policyWith(), managementState: "Paused" as const };
  const state = stateSecret({ ...noState, rollout });
  const seen = facts({ objects: { state }, policy, retry: "2" });
  assert.partialDeepStrictEqual(seen.state, rollout);
  assert.deepEqual([seen.isPaused, seen.retry, facts().isPaused], [true, "2", false]);
});
