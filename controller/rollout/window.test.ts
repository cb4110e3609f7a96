import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "./decide.ts";
import type { NodeFacts, RolloutPolicy, Snapshot } from "./facts.ts";
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
  secret,
  snapshotOf,
  state,
  usual,
} from "./snapshot.fixture.ts";
import { orderFor, placesOf } from "./window.ts";

const proved = { ...state, proved: true };
const older = { ...newest, revision: 99 };
const policyOf = (changes: Partial<RolloutPolicy>): RolloutPolicy => ({
  ...snapshotOf().policy,
  ...changes,
});
const askedBy = (changes: Partial<Snapshot>): string[] =>
  decide(snapshotOf(changes)).actions.flatMap((action) =>
    action.kind === "ask" ? [action.node.name] : [],
  );

const places: readonly (readonly [
  maxUnavailable: number | "all",
  mode: "Restart" | "Reread",
  proved: number,
  expected: number,
])[] = [
  [10, "Restart", 0, 1],
  [10, "Restart", 1, 3],
  [10, "Restart", 4, 9],
  [10, "Restart", 5, 10],
  [1, "Restart", 5, 1],
  [1000, "Restart", 100, 201],
  [10, "Reread", 0, 1],
  [10, "Reread", 1, Number.POSITIVE_INFINITY],
  ["all", "Restart", 0, Number.POSITIVE_INFINITY],
  ["all", "Reread", 0, Number.POSITIVE_INFINITY],
];
for (const [maxUnavailable, mode, count, expected] of places)
  test(`has ${expected} places in mode ${mode} for ${maxUnavailable} nodes after ${count} proofs`, () => {
    const snapshot = {
      ...snapshotOf(),
      secret: { ...secret, mode },
      policy: policyOf({ maxUnavailable }),
    };
    assert.equal(placesOf(snapshot, count), expected);
  });

const at = publishedAt + 1;
const working = (name: string): NodeFacts => askedNode(name, at);
const workingForOlder = (name: string): NodeFacts =>
  nodeOf(name, { object: objectOf(orderAt(at, older)) });
const free = (...names: string[]): NodeFacts[] => names.map((name) => nodeOf(name));
const controlPlane = { isControlPlane: true };
const reread = { ...pod, mode: "Reread" } as const;

const rows: readonly [
  condition: string,
  nodes: readonly NodeFacts[],
  expected: readonly string[],
  changes?: Partial<Snapshot>,
][] = [
  ["one node before the first proof", free("a", "b"), ["a"]],
  ["none while the first node is at work", [working("a"), ...free("b")], []],
  [
    "another node when the first is silent",
    [working("a"), ...free("b")],
    ["b"],
    { now: at + usual + 1 },
  ],
  ["as many nodes as there are places", [...provedNodes(1), ...free("a", "b", "c")], ["a", "b"]],
  ["fewer nodes while others work", [...provedNodes(1), working("w"), ...free("a", "b")], ["a"]],
  [
    "one node if its proof is gone with its Node",
    [working("w"), ...free("a", "b")],
    ["a"],
    { state: proved },
  ],
  [
    "a free node before one that works for older content",
    [workingForOlder("w"), ...free("x")],
    ["x"],
  ],
  [
    "only the first node again if a retry comes while it is at work",
    [working("w"), ...free("a")],
    ["w"],
    { state: { ...state, since: at + 1 } },
  ],
  [
    "neither of two nodes that were at work before a retry and before the first proof",
    [askedNode("a", at), askedNode("b", at)],
    [],
    { now: at + 60, state: { ...state, since: at + 50 } },
  ],
  [
    "only one of the nodes that failed if a retry comes before the first proof",
    ["a", "b", "c"].map((name) => askedNode(name, at, "Failed")),
    ["a"],
    { now: at + 60, state: { ...state, since: at + 50 } },
  ],
  [
    "a node that works for older content if no further node may become unavailable",
    [workingForOlder("w"), ...free("a")],
    ["w"],
    { policy: policyOf({ maxUnavailable: 1 }) },
  ],
  [
    "only one of the nodes that work for older content before the first proof",
    [workingForOlder("v"), workingForOlder("w")],
    ["v"],
  ],
  [
    "no free node while the places are taken by older content",
    [...provedNodes(1), workingForOlder("v"), workingForOlder("w"), ...free("a")],
    ["v", "w"],
  ],
  [
    "one control-plane node at a time",
    [...provedNodes(1), nodeOf("a", controlPlane), nodeOf("b", controlPlane), ...free("c")],
    ["c", "a"],
    { policy: policyOf({ maxUnavailable: 3 }) },
  ],
  [
    "all control-plane nodes in a mode that restarts nothing",
    [
      ...provedNodes(1),
      ...["a", "b"].map((name) => nodeOf(name, { ...controlPlane, pod: reread })),
    ],
    ["a", "b"],
    {
      secret: { ...secret, mode: "Reread" },
      template: { isCurrent: true, mode: "Reread", maxUnavailable: 1 },
      target: { ...snapshotOf().target, mode: "Reread" },
    },
  ],
  [
    "no control-plane node while another works for older content",
    [...provedNodes(1), { ...workingForOlder("w"), ...controlPlane }, nodeOf("b", controlPlane)],
    ["w"],
  ],
  [
    "no control-plane node while another works",
    [...provedNodes(1), { ...working("w"), ...controlPlane }, nodeOf("b", controlPlane)],
    [],
  ],
  [
    "a free node beside nodes that got newer content in their places",
    [...provedNodes(1), workingForOlder("v"), workingForOlder("w"), ...free("a", "b")],
    ["a", "v", "w"],
    { policy: policyOf({ maxUnavailable: 3 }) },
  ],
  [
    "no node that works for older content while the first node is at work",
    [working("w"), workingForOlder("v")],
    [],
  ],
  [
    "a control-plane node that works for older content",
    [...provedNodes(1), { ...workingForOlder("w"), ...controlPlane }],
    ["w"],
  ],
  [
    "nodes that refused before last",
    [
      askedNode("refused", at, "Refused"),
      nodeOf("starting", { pod: { ...pod, readySince: undefined } }),
      nodeOf("young", { pod: { ...pod, readySince: 1020 } }),
      ...provedNodes(1),
    ],
    ["young", "starting", "refused"],
    { now: at + 600, policy: policyOf({ maxUnavailable: 3 }) },
  ],
  [
    "nodes that did not answer older content last",
    [
      nodeOf("silent", { object: objectOf(orderAt(at, older)) }),
      nodeOf("young", { pod: { ...pod, readySince: 1020 } }),
      ...provedNodes(1),
    ],
    ["young", "silent"],
    { now: at + usual + 1 },
  ],
  [
    "Ready nodes first, and not the oldest, but in the order of their UIDs",
    [
      nodeOf("0-starting", { pod: { ...pod, readySince: undefined } }),
      nodeOf("2-old", { pod: { ...pod, readySince: 800 } }),
      nodeOf("1-young", { pod: { ...pod, readySince: 900 } }),
      ...provedNodes(1),
    ],
    ["1-young", "2-old", "0-starting"],
    { policy: policyOf({ maxUnavailable: 3 }) },
  ],
];
for (const [condition, nodes, expected, changes] of rows)
  test(`asks ${condition}`, () => assert.deepEqual(askedBy({ nodes, ...changes }), expected));

test("asks all nodes at once if the policy allows it", () => {
  const policy = policyOf({ maxUnavailable: "all" });
  assert.equal(askedBy({ policy, nodes: nodesOf(80) }).length, 80);
});

test("counts nodes that are asked now and before as places in use", () => {
  const { view } = decide(
    snapshotOf({ nodes: [...provedNodes(1), working("w"), ...free("a", "b")] }),
  );
  assert.deepEqual(
    view.waiting.map(({ reason }) => reason),
    ["atWork", "atWork", "window"],
  );
  const { waiting } = decide(
    snapshotOf({
      nodes: [...provedNodes(1), { ...working("w"), ...controlPlane }, nodeOf("c", controlPlane)],
    }),
  ).view;
  assert.equal(waiting.at(-1)?.reason, "controlPlane");
});

const attempts: readonly [condition: string, node: NodeFacts, expected: number, since?: number][] =
  [
    ["the time", nodeOf("n"), now],
    ["one more than the last attempt of the same second", askedNode("n", now), now + 1],
    ["the start of the orders if the clocks differ", nodeOf("n"), now + 3, now + 3],
    ["the time if the clock was set back", askedNode("n", now + 9999), now],
  ];
for (const [condition, node, expected, since = publishedAt] of attempts)
  test(`numbers an attempt with ${condition}`, () => {
    const snapshot = { ...snapshotOf({ now: now + 0.7, state: { ...state, since } }), secret };
    assert.deepEqual(orderFor(snapshot, node), orderAt(expected));
  });

test("asks control-plane nodes after all others, also if one of them is silent", () => {
  const later = { now: at + usual + 1 };
  const silent = { ...working("a"), ...controlPlane };
  const nodes = [...provedNodes(5), silent, nodeOf("b", controlPlane), ...free("c")];
  assert.deepEqual(askedBy({ nodes, ...later }), ["c", "b"]);
});

test("without restarts, asks fifty nodes in a second, and the others a second later", () => {
  const names = Array.from({ length: 120 }, (_, index) => `n${index}`);
  const mode = "Reread" as const;
  const { template, target } = snapshotOf();
  const changes = {
    secret: { ...secret, mode },
    target: { ...target, mode },
    template: template && { ...template, mode },
  };
  const inMode = { pod: { ...pod, mode } };
  const nodesAsked = (asked: readonly string[], attempt: number) => [
    ...provedNodes(1),
    ...names.map((name) =>
      nodeOf(
        name,
        asked.includes(name) ? { ...inMode, object: objectOf(orderAt(attempt)) } : inMode,
      ),
    ),
  ];
  const asked = askedBy({ ...changes, nodes: nodesAsked([], 0) });
  assert.equal(asked.length, 50);
  const now = Math.floor(snapshotOf().now);
  const after = nodesAsked(asked, now);
  const saved = { ...state, proved: true };
  const full = decide(snapshotOf({ ...changes, nodes: after, state: saved }));
  assert.deepEqual([full.actions.filter(({ kind }) => kind === "ask").length, full.again], [0, 1]);
  assert.equal(askedBy({ ...changes, nodes: after, now: now + 1 }).length, 50);
});
