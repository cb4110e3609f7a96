/** The order of the steps, what a pause holds back, and when to decide again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "./decide.ts";
import type { Action, NodeFacts, Snapshot, StateFacts } from "./facts.ts";
import {
  askedNode,
  newest,
  nodeOf,
  nodesOf,
  now,
  objectOf,
  orderAt,
  pod,
  provedNodes,
  publishedAt,
  reportOf,
  secret,
  snapshotOf,
  state,
  usual,
} from "./snapshot.fixture.ts";

const at = publishedAt + 1;
const { target, policy } = snapshotOf();
const other = { target: { ...target, digest: "e" } };
const release = { target: { ...target, intent: "release" } } as const;
const released = { secret: { ...secret, intent: "release" } } as const;
const kinds = (changes: Partial<Snapshot>): Action["kind"][] =>
  decide(snapshotOf(changes)).actions.map(({ kind }) => kind);
const savedBy = (changes: Partial<Snapshot>): StateFacts | undefined => {
  const [first] = decide(snapshotOf(changes)).actions;
  return first?.kind === "save" ? first.state : undefined;
};

const none = { nodes: [] };
const unknown = { target: { ...target, isKnown: false } };
const steps: readonly [
  condition: string,
  changes: Partial<Snapshot>,
  expected: Action["kind"][],
][] = [
  ["nothing is to do", { nodes: [askedNode("n", at)] }, []],
  ["the Secret is missing", { secret: undefined }, ["publish"]],
  ["the Secret is missing in a withdrawal", { secret: undefined, ...release }, ["publish"]],
  ["content is newer", { ...other }, ["publish"]],
  [
    "the state must be saved before newer content",
    { ...other, state: { ...state, revision: 1 } },
    ["save", "publish"],
  ],
  ["the DaemonSet is missing", { ...none, template: undefined }, ["write-template"]],
  [
    "the template is old",
    { ...none, template: { isCurrent: false, mode: "Restart", maxUnavailable: 1 } },
    ["write-template"],
  ],
  [
    "the budget of the template differs",
    { ...none, template: { isCurrent: true, mode: "Restart", maxUnavailable: 2 } },
    ["write-template"],
  ],
  ["a node has no object", { nodes: nodesOf(1, { object: undefined }) }, ["create"]],
  [
    "the object of a former node has the name of a node",
    {
      nodes: nodesOf(1, { object: undefined }),
      orphans: [{ name: "n0", uid: "former", object: objectOf() }],
    },
    ["delete"],
  ],
  [
    "the object of a former node has an order",
    {
      nodes: nodesOf(1, { object: undefined }),
      orphans: [{ name: "n0", uid: "former", object: objectOf(orderAt(at)) }],
    },
    ["save", "delete"],
  ],
  [
    "a former node's object is being deleted",
    {
      nodes: nodesOf(1, { object: undefined }),
      orphans: [{ name: "n0", uid: "former", object: { ...objectOf(), isDeleting: true } }],
    },
    [],
  ],
  [
    "no node has the name of a former node",
    { ...none, orphans: [{ name: "gone", uid: "former", object: objectOf() }] },
    [],
  ],
  [
    "a node has neither object nor pod",
    { nodes: nodesOf(1, { object: undefined, pod: undefined }) },
    [],
  ],
  [
    "a pod without an object is deleted",
    { nodes: nodesOf(1, { object: undefined, pod: { ...pod, isDeleting: true } }) },
    [],
  ],
  ["the first node is asked", {}, ["save", "ask"]],
  [
    "further nodes are asked",
    { state: { ...state, proved: true }, nodes: [askedNode("p", at, "Proved"), nodeOf("n")] },
    ["ask"],
  ],
  [
    "everything is to do",
    {
      nodes: [...provedNodes(3), nodeOf("n"), nodeOf("m", { object: undefined })],
      template: undefined,
    },
    ["save", "write-template", "create", "ask", "promote"],
  ],
  ["a withdrawal is over", { ...released, ...release, ...none }, ["complete"]],
  [
    "a node of a withdrawal has no object",
    {
      ...released,
      ...release,
      state: { ...state, served: true },
      nodes: nodesOf(1, { object: undefined }),
    },
    ["create"],
  ],
];
for (const [condition, changes, expected] of steps)
  test(`decides [${expected.join(", ")}] if ${condition}`, () =>
    assert.deepEqual(kinds(changes), expected));

const paused = { isPaused: true };
const unaskable: readonly (readonly [condition: string, changes: Partial<Snapshot>])[] = [
  ["the new node has no agent", { nodes: nodesOf(1, { object: undefined, pod: undefined }) }],
  ["the rollout is paused", paused],
  ["the policy is missing", { isGuarded: false }],
  ["the rollout is halted", { state: { ...state, failed: ["f"] } }],
  ["the content is a release", { ...released, ...release, state: { ...state, served: true } }],
];
for (const [condition, changes] of unaskable)
  test(`deletes the object of a former node although ${condition}`, () => {
    const orphans = [{ name: "n0", uid: "former", object: objectOf(orderAt(at)) }];
    const nodes = nodesOf(1, { object: undefined });
    assert.equal(kinds({ nodes, orphans, ...changes }).at(-1), "delete");
  });

const pauses: readonly [
  condition: string,
  changes: Partial<Snapshot>,
  expected: Action["kind"][],
][] = [
  ["the first content", { secret: undefined, template: undefined, ...unknown }, []],
  ["content instead of an edited Secret", { secret: undefined, ...unknown }, []],
  ["no content that was published before", { secret: undefined }, ["publish"]],
  ["content after a withdrawal", { ...released, template: undefined }, []],
  ["newer content", { ...other, ...none }, []],
  ["a withdrawal that has not begun", { ...release, ...none }, []],
  ["no withdrawal that has begun", { ...released, ...release, ...none }, ["complete"]],
  [
    "no release instead of an edited Secret",
    { secret: undefined, target: { ...release.target, isKnown: false } },
    ["publish"],
  ],
  ["no template", { ...none, template: undefined }, ["write-template"]],
  ["no object", { nodes: nodesOf(1, { object: undefined }) }, ["create"]],
  ["orders", { nodes: nodesOf(1) }, []],
  ["a retry", { ...none, retry: "r" }, []],
  ["no evidence", { nodes: [askedNode("n", at, "Failed")] }, ["save"]],
];
for (const [what, changes, expected] of pauses)
  test(`a pause holds back ${what}`, () =>
    assert.deepEqual(kinds({ ...paused, ...changes }), expected));

test("reports a pause that holds back the whole decision", () => {
  const { view, again } = decide(snapshotOf({ ...paused, ...unknown, secret: undefined }));
  assert.deepEqual([view.phase, view.pending, again], ["idle", "paused", Number.POSITIVE_INFINITY]);
});

const all = { policy: { ...policy, maxUnavailable: "all" } } as const;
const saved: readonly [
  condition: string,
  changes: Partial<Snapshot>,
  expected: Partial<StateFacts>,
][] = [
  [
    "the nodes that are asked before the first proof",
    { ...all, nodes: nodesOf(2) },
    { asked: ["uid-n0", "uid-n1"] },
  ],
  [
    "no nodes that are asked after it",
    { nodes: [askedNode("p", at, "Proved"), nodeOf("n"), nodeOf("m")] },
    { proved: true },
  ],
  [
    "that content was served, before the promotion",
    { nodes: provedNodes(3) },
    { proved: true, served: true },
  ],
  [
    "the retry, and the orders that follow it",
    { retry: "r", nodes: [askedNode("n", at, "Failed")] },
    { retry: "r", since: now + 1, asked: ["uid-n"] },
  ],
  [
    "the evidence, although nothing can be asked",
    { ...paused, nodes: [askedNode("n", at, "Failed")] },
    { failed: ["uid-n"] },
  ],
  [
    "the revision of the Secret",
    { ...none, state: { ...state, revision: 1 } },
    { bucketUntil: now + 600 },
  ],
];
for (const [what, changes, expected] of saved)
  test(`saves ${what}`, () => assert.deepEqual(savedBy(changes), { ...state, ...expected }));

test("records at most 2,000 nodes", () => {
  const { asked = [], failed = [] } = savedBy({ ...all, nodes: nodesOf(2001) }) ?? {};
  const nodes = nodesOf(2001, { object: objectOf(orderAt(at), reportOf("Failed", at)) });
  assert.deepEqual(
    [asked.length, failed.length, savedBy({ nodes })?.failed.length],
    [2000, 0, 2000],
  );
});

const older = objectOf(orderAt(at, { ...newest, revision: 99 }));
const refused: NodeFacts = askedNode("n", at, "Refused");
const times: readonly [condition: string, changes: Partial<Snapshot>, expected: number][] = [
  ["there is something to do", { nodes: nodesOf(1) }, 1],
  ["only the template must be written", { ...none, template: undefined }, Number.POSITIVE_INFINITY],
  [
    "nothing changes",
    {
      nodes: nodesOf(1, { object: provedNodes(1)[0]?.object, created: now - 100 }),
      secret: { ...secret, served: 100 },
      state: { ...state, proved: true, served: true },
    },
    Number.POSITIVE_INFINITY,
  ],
  ["the usual time of a node ends", { nodes: [askedNode("n", at)] }, at + usual + 1 - now],
  [
    "the usual time of an older order ends",
    { ...paused, nodes: nodesOf(1, { object: older }) },
    at + usual + 1 - now,
  ],
  [
    "the usual time of a release ends",
    { ...released, ...release, nodes: nodesOf(1), state: { ...state, served: true } },
    publishedAt + usual + 1 - now,
  ],
  ["a refused node is asked again", { nodes: [refused] }, at + 600 - now],
  [
    "an agent that does not start delays the end no longer",
    {
      nodes: [...provedNodes(3), nodeOf("n", { pod: { ...pod, isRunning: false } })],
      secret: { ...secret, served: 100 },
      state: { ...state, proved: true, served: true },
    },
    publishedAt + usual + 1 - now,
  ],
  ["a young node counts", { ...paused, nodes: nodesOf(1, { created: now - 5 }) }, 115],
  ["a Node of the future is young", { ...paused, nodes: nodesOf(1, { created: now + 100 }) }, 40],
  ["the interval ends", { ...other, ...none, policy: { ...policy, minInterval: 60 } }, 50],
  [
    "a place of the bucket is free",
    {
      ...other,
      ...none,
      state: { ...state, bucketUntil: now + 3010 },
    },
    10,
  ],
  [
    "the first pod was Ready for 60 s",
    {
      ...paused,
      nodes: [
        nodeOf("n", { pod: { ...pod, readySince: now - 30 } }),
        nodeOf("o", { pod: { ...pod, isCurrent: false } }),
      ],
    },
    30,
  ],
  [
    "forgetAfter ends",
    {
      ...released,
      ...release,
      nodes: nodesOf(1),
      state: { ...state, served: true },
      now: publishedAt + 3500,
    },
    101,
  ],
];
for (const [condition, changes, expected] of times)
  test(`decides again after ${expected} s, when ${condition}`, () =>
    assert.equal(decide(snapshotOf(changes)).again, expected));
