import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "./decide.ts";
import type { NodeFacts, Snapshot, WaitReason } from "./facts.ts";
import {
  askedNode,
  nodeOf,
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
import { untilAskedAgain } from "./waits.ts";

const at = publishedAt + 1;
const late = at + usual + 1;
const withPod = (changes: Partial<typeof pod>): NodeFacts =>
  nodeOf("n", { pod: { ...pod, ...changes } });
const proved = { ...state, proved: true };

/** Besides the node, two nodes have the content, so that five nodes may be at work. */
const reasons: readonly [
  condition: string,
  node: NodeFacts,
  expected: WaitReason,
  changes?: Partial<Snapshot>,
][] = [
  ["has no pod", nodeOf("n", { pod: undefined }), "podless"],
  ["has a pod that does not run", withPod({ isRunning: false }), "starting"],
  ["has a pod that is being deleted", withPod({ isDeleting: true }), "starting"],
  ["has no object", nodeOf("n", { object: undefined }), "starting"],
  ["has an object that cannot be written", nodeOf("n", { isRefused: true }), "starting"],
  ["does not answer", withPod({ isUnreachable: true }), "unreachable"],
  ["was asked", askedNode("n", at), "atWork"],
  ["is asked now", nodeOf("n"), "atWork"],
  ["did not answer its order", askedNode("n", at), "silent", { now: late }],
  ["failed", askedNode("n", at, "Failed"), "failed"],
  ["refused", askedNode("n", at, "Refused"), "refused"],
  ["lacks the policy that makes reports a proof", nodeOf("n"), "unguarded", { isGuarded: false }],
  ["is in a paused cluster", nodeOf("n"), "paused", { isPaused: true }],
  ["is in a halted rollout", nodeOf("n"), "halted", { state: { ...proved, failed: ["x"] } }],
  ["has an agent of another mode", withPod({ mode: "Reread" }), "otherMode"],
  ["has an agent of no mode", withPod({ mode: undefined }), "otherMode"],
];
for (const [condition, node, expected, changes] of reasons)
  test(`a node that ${condition} waits as ${expected}`, () => {
    const snapshot = snapshotOf({ state: proved, nodes: [...provedNodes(2), node], ...changes });
    const { actions, view } = decide(snapshot);
    assert.deepEqual(
      view.waiting.map((waiting) => [waiting.node, waiting.reason]),
      [["n", expected]],
    );
    const isAsked = actions.some(({ kind }) => kind === "ask");
    assert.equal(isAsked, condition === "is asked now");
  });

test("gives the first reason if several apply", () => {
  const broken = { isPaused: true, isGuarded: false, state: { ...proved, failed: ["x"] } };
  const first = (node: NodeFacts): WaitReason | undefined =>
    decide(snapshotOf({ ...broken, nodes: [node] })).view.waiting[0]?.reason;
  const absent = { isRunning: false, isUnreachable: true, mode: "Reread" } as const;
  assert.deepEqual(
    [first(withPod(absent)), first(withPod({ ...absent, isRunning: true }))],
    ["starting", "unreachable"],
  );
  assert.deepEqual(
    [first(askedNode("n", at, "Refused")), first(withPod({ mode: "Reread" }))],
    ["refused", "unguarded"],
  );
  const other = [withPod({ mode: "Reread" })];
  const remaining = [
    { isGuarded: true },
    { isGuarded: true, isPaused: false },
    { isGuarded: true, isPaused: false, state: proved },
  ].map(
    (changes) =>
      decide(snapshotOf({ ...broken, ...changes, nodes: other })).view.waiting[0]?.reason,
  );
  assert.deepEqual(remaining, ["paused", "halted", "otherMode"]);
});

const order = orderAt(at);
const minutes = 60;
const again: readonly [condition: string, node: NodeFacts, expected: number][] = [
  ["has just refused", askedNode("n", at, "Refused"), 10 * minutes],
  ["refuses since ten minutes", refusedSince(at - 10 * minutes), 20 * minutes],
  ["refuses since thirty minutes", refusedSince(at - 30 * minutes), 40 * minutes],
  ["refuses since a day", refusedSince(at - 24 * 60 * minutes), 6 * 60 * minutes],
  ["has a clock that is ahead", refusedSince(at + 1000 * minutes), 10 * minutes],
  ["has a pod younger than the order", withRefusal({ created: at + 1 }), 0],
  ["has a pod as old as the order", withRefusal({ created: at }), 10 * minutes],
];
for (const [condition, node, expected] of again)
  test(`asks a node again ${expected / minutes} minutes later if it ${condition}`, () =>
    assert.equal(untilAskedAgain(node, at), expected));

function refusedSince(since: number): NodeFacts {
  const report = { ...reportOf("Refused", at), since };
  return nodeOf("n", { object: objectOf(order, report) });
}

function withRefusal(changes: Partial<typeof pod>): NodeFacts {
  return { ...askedNode("n", at, "Refused"), pod: { ...pod, ...changes } };
}

test("asks a refused node again at once if the clock was set back", () =>
  assert.equal(untilAskedAgain(askedNode("n", at, "Refused"), at - 5000), 0));

test("asks a refused node again when its pause is over, and at once for newer content", () => {
  const node = askedNode("n", at, "Refused");
  const asks = (changes: Partial<Snapshot>): boolean =>
    decide(snapshotOf({ nodes: [node], ...changes })).actions.some(({ kind }) => kind === "ask");
  const newer = { ...secret, revision: 101 };
  assert.deepEqual(
    [asks({ now: at + 599 }), asks({ now: at + 600 }), asks({ secret: newer })],
    [false, true, true],
  );
});

test("asks nothing about a release, whatever a node reports", () => {
  const release = { ...secret, intent: "release" } as const;
  const target = { ...snapshotOf().target, intent: "release" } as const;
  const nodes = [
    askedNode("refused", at, "Refused"),
    askedNode("failed", at, "Failed"),
    nodeOf("n"),
  ];
  for (const time of [now, at + 5000]) {
    const { actions, view } = decide(
      snapshotOf({
        now: time,
        secret: release,
        target,
        nodes,
        policy: { ...snapshotOf().policy, forgetAfter: 9999 },
      }),
    );
    assert.deepEqual(actions, []);
    assert.deepEqual(
      view.waiting.map(({ reason }) => reason),
      ["refused", "failed", time === now ? "atWork" : "silent"],
    );
  }
});
