import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "./decide.ts";
import type { NodeFacts, Snapshot } from "./facts.ts";
import {
  askedNode,
  nodeOf,
  objectOf,
  publishedAt,
  reportOf,
  secret,
  snapshotOf,
  state,
} from "./snapshot.fixture.ts";

const release = { ...secret, intent: "release" } as const;
const target = { ...snapshotOf().target, intent: "release" } as const;
const served = { ...state, served: true };

/** The nodes that are left behind, or undefined if the withdrawal is not complete. */
function leftBehind(nodes: readonly NodeFacts[], changes: Partial<Snapshot> = {}) {
  const snapshot = snapshotOf({ secret: release, target, state: served, nodes, ...changes });
  const action = decide(snapshot).actions.find(({ kind }) => kind === "complete");
  return action?.kind === "complete" ? action.leftBehind : undefined;
}

const confirmed = nodeOf("confirmed", { object: objectOf(undefined, reportOf("Removed", 0)) });
const young = nodeOf("young", { created: publishedAt + 121 });
const inMargin = nodeOf("margin", { created: publishedAt + 120 });
const future = nodeOf("future", { created: publishedAt + 5000 });
const withContent = objectOf(undefined, reportOf("Proved", 0));
const later = { now: publishedAt + 200 };
const ahead = (seconds: number) => nodeOf("ahead", { created: later.now + seconds });
const afterAll = { now: publishedAt + 3601 };
const inTime = { now: publishedAt + 3600 };
const unserved = { state };

const rows: readonly [
  condition: string,
  nodes: readonly NodeFacts[],
  expected: readonly string[] | undefined,
  changes?: Partial<Snapshot>,
][] = [
  ["every node has confirmed it", [confirmed], []],
  ["there are no nodes", [], []],
  ["an older node has not confirmed it", [confirmed, nodeOf("n")], undefined],
  ["a younger node has not confirmed it", [confirmed, young], [], later],
  ["a younger node has content", [confirmed, { ...young, object: withContent }], undefined, later],
  ["a younger node's clock is 60 s ahead", [confirmed, ahead(60)], [], later],
  ["a node's time is more than 60 s ahead", [confirmed, ahead(61)], undefined, later],
  ["the clock was set back, so that a node seems younger", [confirmed, future], undefined],
  ["a node joined while the release was written", [confirmed, inMargin], undefined, later],
  ["nothing was served, and a node was not asked", [nodeOf("n")], [], unserved],
  [
    "nothing was served, and a node has no object",
    [nodeOf("n", { object: undefined })],
    [],
    unserved,
  ],
  ["nothing was served, and a node was asked", [askedNode("n", 5)], undefined, unserved],
  ["an agent removed nothing", [askedNode("n", 5, "Failed")], undefined],
  [
    "nothing was served, and a node has reported",
    [nodeOf("n", { object: withContent })],
    undefined,
    unserved,
  ],
  ["forgetAfter is not over", [confirmed, nodeOf("n")], undefined, inTime],
  ["forgetAfter is over", [confirmed, askedNode("n", 5), young], ["n"], afterAll],
  ["a node that is left behind has no order yet", [confirmed, nodeOf("n")], undefined, afterAll],
  ["the policy is missing", [confirmed], undefined, { isGuarded: false }],
  [
    "the policy is missing, and nothing was asked or reported",
    [nodeOf("n")],
    [],
    { ...unserved, isGuarded: false },
  ],
  [
    "the wanted content is no release any more",
    [confirmed],
    undefined,
    { target: snapshotOf().target },
  ],
  [
    "content is wanted again, and a pause delays it",
    [confirmed],
    undefined,
    { target: { ...snapshotOf().target, digest: "e" }, isPaused: true },
  ],
  ["the Secret is no release yet", [confirmed], undefined, { secret }],
  ["the cluster is paused", [confirmed], [], { isPaused: true }],
  ["the DaemonSet was deleted", [confirmed], [], { template: undefined }],
];
for (const [condition, nodes, expected, changes] of rows)
  test(`${expected === undefined ? "continues" : "completes"} a withdrawal if ${condition}`, () =>
    assert.deepEqual(leftBehind(nodes, changes), expected));

test("writes a deleted DaemonSet again while nodes must confirm the release", () => {
  const nodes = [nodeOf("n", { pod: undefined })];
  const snapshot = snapshotOf({
    secret: release,
    target,
    state: served,
    nodes,
    template: undefined,
  });
  assert.deepEqual(decide(snapshot).actions, [{ kind: "write-template", maxUnavailable: 1 }]);
});

test("decides again when forgetAfter is over", () => {
  const snapshot = snapshotOf({ ...inTime, secret: release, target, state: served });
  assert.deepEqual([decide(snapshot).actions, decide(snapshot).again], [[], 1]);
});

test("gives each node that is left behind an object with an order, so that it stays named", () => {
  const nodes = [confirmed, nodeOf("n"), nodeOf("none", { object: undefined })];
  const snapshot = snapshotOf({ ...afterAll, secret: release, target, state: served, nodes });
  const marks = decide(snapshot).actions.map((action) => [
    action.kind,
    "node" in action ? action.node.name : undefined,
    "order" in action ? action.order.revision : undefined,
  ]);
  assert.deepEqual(marks, [
    ["ask", "n", release.revision],
    ["create", "none", undefined],
  ]);
});
