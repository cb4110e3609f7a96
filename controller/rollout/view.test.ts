import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "./decide.ts";
import type { NodeFacts, Snapshot, View } from "./facts.ts";
import {
  askedNode,
  nodeOf,
  nodesOf,
  pod,
  provedNodes,
  publishedAt,
  reportOf,
  secret,
  snapshotOf,
  usual,
} from "./snapshot.fixture.ts";

const at = publishedAt + 1;
const late = { now: at + usual + 1 };
const cut = nodeOf("cut", { pod: { ...pod, isUnreachable: true } });
const viewOf = (nodes: readonly NodeFacts[], changes: Partial<Snapshot> = {}): View =>
  decide(snapshotOf({ nodes, ...changes })).view;

const release = { secret: { ...secret, intent: "release" } } as const;
const phases: readonly [
  expected: View["phase"],
  condition: string,
  nodes: readonly NodeFacts[],
  changes?: Partial<Snapshot>,
][] = [
  ["idle", "nothing is published", nodesOf(1), { secret: undefined }],
  ["first", "no node has proved the content", nodesOf(2)],
  ["rollout", "a node has proved it, and another waits", [...provedNodes(1), nodeOf("n")]],
  ["rollout", "a node is at work", [...provedNodes(1), askedNode("n", at)]],
  ["rollout", "a node has no pod", [...provedNodes(1), nodeOf("n", { pod: undefined })]],
  [
    "rollout",
    "a node does not start, and most have not proved it",
    [...provedNodes(1), nodeOf("n", { pod: undefined })],
    late,
  ],
  [
    "rollout",
    "most have proved it, and one has just started",
    [...provedNodes(3), nodeOf("n", { pod: { ...pod, isRunning: false } })],
  ],
  ["rollout", "most have proved it, and one can be asked", [...provedNodes(3), nodeOf("n")], late],
  [
    "done",
    "most have proved it, and one does not start",
    [...provedNodes(3), nodeOf("n", { pod: { ...pod, isRunning: false } })],
    late,
  ],
  [
    "done",
    "most have proved it, and others join",
    [...provedNodes(3), ...nodesOf(2, { created: late.now - 60 })],
    late,
  ],
  ["done", "every node has proved it", provedNodes(2)],
  ["done", "there are no nodes", []],
  [
    "done",
    "the others refused, are silent or cannot be reached",
    [...provedNodes(1), cut, askedNode("s", at), askedNode("r", late.now, "Refused")],
    late,
  ],
  [
    "done",
    "a failure is allowed",
    [...provedNodes(1), askedNode("n", at, "Failed")],
    { policy: { ...snapshotOf().policy, maxFailures: 1 } },
  ],
  ["halted", "a node failed", [...provedNodes(1), askedNode("n", at, "Failed")]],
  ["withdrawal", "the content is a release", nodesOf(1), release],
];
for (const [expected, condition, nodes, changes] of phases)
  test(`the phase is ${expected} if ${condition}`, () =>
    assert.equal(viewOf(nodes, changes).phase, expected));

const joined = { created: publishedAt + 5 };
const lacking = (count: number, changes: Partial<NodeFacts> = {}) => nodesOf(count, changes);
const readiness: readonly [
  expected: boolean,
  condition: string,
  nodes: readonly NodeFacts[],
  changes?: Partial<Snapshot>,
][] = [
  [true, "every node has the content", provedNodes(1)],
  [true, "there are no nodes", []],
  [false, "the only node lacks it", lacking(1)],
  [false, "one of two lacks it", [...provedNodes(1), ...lacking(1)]],
  [true, "one of three lacks it", [...provedNodes(2), ...lacking(1)]],
  [false, "two of ten lack it", [...provedNodes(8), ...lacking(2)]],
  [true, "a twentieth lacks it", [...provedNodes(38), ...lacking(2)]],
  [false, "more than a twentieth lacks it", [...provedNodes(37), ...lacking(2)]],
  [true, "those that lack it are unreachable", [...provedNodes(1), cut, cut]],
  [false, "those that have it are unreachable", [{ ...cut, object: provedNodes(1)[0]?.object }]],
  [
    true,
    "those that lack it joined later, and less than two minutes ago",
    [...provedNodes(1), ...lacking(3, joined)],
  ],
  [
    false,
    "those that lack it joined later, two minutes ago",
    [...provedNodes(1), ...lacking(3, joined)],
    { now: joined.created + 120 },
  ],
  [
    false,
    "those that lack it are young, but older than the content",
    [...provedNodes(1), ...lacking(3, { created: publishedAt })],
  ],
  [
    false,
    "those that lack it seem to join in the future, because the clock was set back",
    [...provedNodes(1), ...lacking(3, { created: snapshotOf().now + 61 })],
  ],
  [
    true,
    "those that lack it join at once by the clock of another API server",
    [...provedNodes(1), ...lacking(3, { created: snapshotOf().now + 60 })],
  ],
  [true, "a young node has it", [{ ...askedNode("n", at, "Proved"), ...joined }]],
  [false, "nodes without a pod lack it", [...provedNodes(2), ...lacking(2, { pod: undefined })]],
];
for (const [expected, condition, nodes, changes] of readiness)
  test(`is ${expected ? "ready" : "not ready"} if ${condition}`, () =>
    assert.equal(viewOf(nodes, { isPaused: true, ...changes }).isReady, expected));

test("lists each node that waits with its reason, its report and why its container waits", () => {
  const failed = askedNode("failed", at, "Failed");
  const pulling = nodeOf("pulling", {
    pod: { ...pod, isRunning: false, waitingReason: "ImagePullBackOff" },
  });
  const view = viewOf([...provedNodes(2), failed, pulling]);
  assert.deepEqual([view.desired, view.current, view.halt], [4, 2, { by: "failed", count: 1 }]);
  assert.deepEqual(view.waiting, [
    {
      node: "failed",
      uid: "uid-failed",
      reason: "failed",
      waitingReason: undefined,
      report: reportOf("Failed", at),
    },
    {
      node: "pulling",
      uid: "uid-pulling",
      reason: "starting",
      waitingReason: "ImagePullBackOff",
      report: undefined,
    },
  ]);
});
