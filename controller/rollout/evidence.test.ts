import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "./decide.ts";
import { adoptState, followRetry, gather, haltOf, verdictOf, type Verdict } from "./evidence.ts";
import type { NodeFacts, ObjectFacts, Snapshot, StateFacts, View } from "./facts.ts";
import {
  askedNode,
  newest,
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

const published = (changes: Partial<Snapshot> = {}) => ({ ...snapshotOf(changes), secret });
const release = { ...secret, intent: "release" } as const;
const older = { ...newest, revision: 99 };
const edited = { ...newest, digest: "other" };
const [late, inTime] = [publishedAt + usual + 2, publishedAt + usual + 1];
const at = publishedAt + 1;
const order = orderAt(at);

const verdicts: readonly [
  condition: string,
  object: ObjectFacts | undefined,
  expected: Verdict,
  changes?: Partial<Snapshot>,
][] = [
  ["has no object", undefined, "unasked"],
  ["was not asked", objectOf(), "unasked"],
  ["was asked for older content", objectOf(orderAt(at, older)), "unasked"],
  ["was asked for content of another digest", objectOf(orderAt(at, edited)), "unasked"],
  ["was asked before the last retry", objectOf(orderAt(publishedAt - 1)), "unasked"],
  ["was just asked", objectOf(order), "atWork"],
  ["was asked its usual time ago", objectOf(order), "atWork", { now: inTime }],
  ["was asked more than its usual time ago", objectOf(order), "silent", { now: late }],
  ["was asked after the present time", objectOf(orderAt(now + usual + 1)), "silent"],
  ["proved the content", objectOf(order, reportOf("Proved", at)), "current"],
  ["proved it when it joined", objectOf(undefined, reportOf("Proved", 0)), "current"],
  ["proved older content", objectOf(order, reportOf("Proved", at - 1, older)), "atWork"],
  ["proved content of another digest", objectOf(order, reportOf("Proved", 3, edited)), "atWork"],
  ["answered an earlier attempt", objectOf(order, reportOf("Failed", at - 1)), "atWork"],
  ["failed", objectOf(order, reportOf("Failed", at)), "failed"],
  ["refused", objectOf(order, reportOf("Refused", at)), "refused"],
  ["removed the content", objectOf(order, reportOf("Removed", at)), "refused"],
  ["answers with other content", objectOf(order, reportOf("Proved", at, older)), "refused"],
  ["answered late", objectOf(order, reportOf("Refused", at)), "refused", { now: late }],
];
for (const [condition, object, expected, changes] of verdicts)
  test(`judges a node that ${condition} as ${expected}`, () =>
    assert.equal(verdictOf(published(changes), object), expected));

const released: readonly (readonly [string, ObjectFacts | undefined, Verdict, at?: number])[] = [
  ["has no object", undefined, "atWork"],
  ["has not answered in its usual time", undefined, "silent", late],
  ["confirms it", objectOf(undefined, reportOf("Removed", 0)), "current"],
  ["confirmed an earlier release", objectOf(undefined, reportOf("Removed", 0, older)), "atWork"],
  ["proves content", objectOf(undefined, reportOf("Proved", 0)), "refused"],
  ["fails", objectOf(undefined, reportOf("Failed", 0)), "failed"],
];
for (const [condition, object, expected, at = now] of released)
  test(`judges a node that ${condition} in a release as ${expected}`, () =>
    assert.equal(verdictOf({ ...published({ now: at }), secret: release }, object), expected));

test("counts an unanswered order of any content as work, until the usual time is over", () => {
  const [working, answered, silent, joined] = gather(
    published({
      now: late,
      nodes: [
        { ...askedNode("working", at), object: objectOf(orderAt(late, older)) },
        askedNode("answered", late, "Refused"),
        askedNode("silent", at),
        { ...askedNode("joined", at), object: objectOf(orderAt(late), reportOf("Proved", 0)) },
      ],
    }),
  ).nodes.map(({ isAtWork }) => isAtWork);
  assert.deepEqual([working, answered, silent, joined], [true, false, false, false]);
});

const gone = { name: "gone", uid: "uid-gone" };
const records: readonly [
  condition: string,
  changes: Partial<Snapshot>,
  expected: Partial<StateFacts>,
  before?: Partial<StateFacts>,
][] = [
  ["fails", { nodes: [askedNode("n", at, "Failed")] }, { failed: ["uid-n"] }],
  ["failed before and is gone", { nodes: [] }, { failed: ["uid-n"] }, { failed: ["uid-n"] }],
  ["is silent", { nodes: [askedNode("n", at)], now: late }, { lost: ["uid-n"] }],
  ["was silent and is gone", { nodes: [] }, { lost: ["uid-n"] }, { lost: ["uid-n"] }],
  [
    "is still silent",
    { nodes: [askedNode("n", at)], now: late },
    { lost: ["uid-n"] },
    { lost: ["uid-n"] },
  ],
  [
    "answers after it was silent",
    { nodes: [askedNode("n", at, "Refused")], now: late },
    {},
    { lost: ["uid-n"] },
  ],
  [
    "was silent and lost its object",
    { nodes: [{ ...askedNode("n", at), object: undefined }] },
    { lost: ["uid-n"] },
    { lost: ["uid-n"] },
  ],
  ["proves", { nodes: [askedNode("n", at, "Proved")] }, { proved: true }],
  ["proved and is gone", { nodes: [] }, { proved: true }, { proved: true }],
  [
    "is gone before its answer",
    { orphans: [{ ...gone, object: objectOf(order) }] },
    { lost: ["uid-gone"] },
  ],
  [
    "is gone after its answer",
    { orphans: [{ ...gone, object: objectOf(order, reportOf("Refused", at)) }] },
    {},
  ],
  [
    "is gone after its failure",
    { orphans: [{ ...gone, object: objectOf(order, reportOf("Failed", at)) }] },
    { failed: ["uid-gone"] },
  ],
  [
    "is gone after its proof",
    { orphans: [{ ...gone, object: objectOf(order, reportOf("Proved", at)) }] },
    { proved: true },
  ],
  ["is gone without an order", { orphans: [{ ...gone, object: objectOf() }] }, {}],
  [
    "is gone with its object before the first proof",
    {},
    { lost: ["uid-gone"] },
    { asked: ["uid-gone"] },
  ],
  [
    "is at work before the first proof",
    { nodes: [askedNode("n", at)] },
    { asked: ["uid-n"] },
    { asked: ["uid-n"] },
  ],
  [
    "refuses before the first proof",
    { nodes: [askedNode("n", at, "Refused")] },
    {},
    { asked: ["uid-n"] },
  ],
  [
    "is the first with a proof",
    { nodes: [askedNode("n", at, "Proved"), askedNode("m", at)] },
    { proved: true },
    { asked: ["uid-n", "uid-m"] },
  ],
];
for (const [condition, changes, expected, before = {}] of records)
  test(`records in the state what a node shows that ${condition}`, () => {
    const recorded = gather(published({ ...changes, state: { ...state, ...before } })).state;
    assert.deepEqual(recorded, { ...state, ...expected });
  });

test("counts one proof if the node that proved the content is gone", () => {
  const { proved } = gather(published({ state: { ...state, proved: true } }));
  assert.equal(proved, 1);
});

const forgotten: readonly [
  condition: string,
  nodes: readonly NodeFacts[],
  expected: readonly string[],
  served?: number,
][] = [
  ["forgets lost nodes that are gone when the rollout is over", provedNodes(1), []],
  ["keeps lost nodes that exist", [askedNode("n", at)], ["uid-n"]],
  ["keeps all lost nodes before the promotion", provedNodes(1), ["uid-gone"], 99],
  ["keeps all lost nodes while a node is at work", [askedNode("m", late)], ["uid-gone"]],
  ["keeps all lost nodes while a node waits", [nodeOf("n")], ["uid-gone", "uid-n"]],
  ["waits for no node without a running agent", [nodeOf("m", { pod: undefined })], []],
  ["waits for no Node that has just joined", [nodeOf("m", { created: late - 60 })], []],
  [
    "keeps all lost nodes while a node waits after the clock was set back",
    [nodeOf("m", { created: late + 61 })],
    ["uid-gone"],
  ],
  ["waits for no unreachable node", [nodeOf("m", { pod: { ...pod, isUnreachable: true } })], []],
];
for (const [condition, nodes, expected, served = 100] of forgotten)
  test(condition, () => {
    const lost = ["uid-gone", "uid-n"].filter(
      (uid) => uid === "uid-gone" || nodes.some((node) => node.uid === uid),
    );
    const snapshot = published({ now: late, nodes, state: { ...state, proved: true, lost } });
    assert.deepEqual(gather({ ...snapshot, secret: { ...secret, served } }).state.lost, expected);
  });

test("records nothing about a release", () => {
  const snapshot = { ...published({ now: late, nodes: [askedNode("n", at)] }), secret: release };
  assert.equal(gather(snapshot).state, snapshot.state);
});

const lostNodes = (count: number) => Array.from({ length: count }, (_, index) => `lost${index}`);
const halts: readonly [
  condition: string,
  evidence: Partial<StateFacts>,
  proved: number,
  expected: View["halt"],
][] = [
  ["a node failed", { failed: ["a"] }, 5, { by: "failed", count: 1 }],
  ["no node failed", {}, 5, undefined],
  ["one node is lost before the first proof", { lost: lostNodes(1) }, 0, undefined],
  ["two are lost before the first proof", { lost: lostNodes(2) }, 0, { by: "lost", count: 2 }],
  ["two of a few are lost", { lost: lostNodes(2), proved: true }, 9, undefined],
  ["three of a few are lost", { lost: lostNodes(3), proved: true }, 9, { by: "lost", count: 3 }],
  ["a tenth are lost", { lost: lostNodes(12), proved: true }, 100, undefined],
  ["more are lost", { lost: lostNodes(13), proved: true }, 100, { by: "lost", count: 13 }],
];
for (const [condition, evidence, proved, expected] of halts)
  test(`${expected === undefined ? "does not halt" : "halts"} if ${condition}`, () => {
    const halt = haltOf(snapshotOf(), { nodes: [], proved, state: { ...state, ...evidence } });
    assert.deepEqual(halt, expected);
  });

test("allows as many failed nodes as the policy", () => {
  const policy = { ...snapshotOf().policy, maxFailures: 1 };
  const failed = (...uids: string[]) =>
    haltOf(snapshotOf({ policy }), { nodes: [], proved: 1, state: { ...state, failed: uids } });
  assert.deepEqual([failed("a"), failed("a", "b")?.count], [undefined, 2]);
});

test("ends a halt when the lost nodes answer", () => {
  const lost = { ...state, lost: ["uid-n", "uid-m"] };
  const halted = snapshotOf({
    now: late,
    state: lost,
    nodes: [askedNode("n", at), askedNode("m", at)],
  });
  assert.equal(decide(halted).view.phase, "halted");
  const nodes = [askedNode("n", at, "Proved"), askedNode("m", at)];
  assert.equal(decide({ ...halted, nodes }).view.halt, undefined);
});

test("replaces the state of another revision, and keeps what is not about a revision", () => {
  const former = {
    ...state,
    revision: 99,
    proved: true,
    asked: ["a"],
    failed: ["b"],
    lost: ["c"],
    served: true,
    retry: "r",
  };
  const expected = { ...state, served: true, retry: "r", bucketUntil: now + 600 };
  assert.deepEqual(adoptState(published({ state: former })), expected);
  assert.equal(adoptState(published({ state: expected })), expected);
});

test("remembers from the Secret that content was served when the state was deleted", () => {
  const snapshot = {
    ...published({ state: { ...state, revision: 0 } }),
    secret: { ...secret, served: 99 },
  };
  assert.equal(adoptState(snapshot).served, true);
});

test("corrects the times of the state if the clock was set back by more than a minute", () => {
  const times = { since: now + 60, bucketUntil: now + 660 };
  const adopted = (changes: Partial<typeof times>) => {
    const before = { ...state, ...times, ...changes };
    const { since, bucketUntil } = adoptState(published({ state: before }));
    return { since, bucketUntil };
  };
  assert.deepEqual(adopted({}), times);
  assert.deepEqual(adopted({ since: now + 61 }), { since: now, bucketUntil: 0 });
});

test("starts the orders now if the content seems to be published later", () => {
  const ahead = {
    ...published({ state: { ...state, revision: 99 } }),
    secret: { ...secret, publishedAt: now + 9 },
  };
  assert.equal(adoptState(ahead).since, now);
});

test("records no removal in a full bucket, so that other content waits for ten minutes at most", () => {
  const full = published({ state: { ...state, revision: 99, bucketUntil: now + 3600 } });
  assert.equal(adoptState(full).bucketUntil, now + 3600);
  const later = { ...full, now: now + 600 };
  assert.equal(adoptState(later).bucketUntil, now + 4200);
});

test("ignores places of the bucket that a clock ahead has taken", () => {
  const ahead = { ...state, revision: 99, bucketUntil: now + 3661 };
  assert.equal(adoptState(published({ state: ahead })).bucketUntil, now + 600);
});

test("starts a second retry after the first, even in the same second", () => {
  const retried = { ...state, since: now + 1, retry: "r" };
  assert.equal(followRetry(snapshotOf({ retry: "s" }), retried).since, now + 2);
});

test("follows a retry once, and not during a pause", () => {
  const halted = { ...state, proved: true, asked: ["a"], failed: ["b"], lost: ["c"] };
  const retried = { ...state, proved: true, retry: "r", since: now + 1 };
  assert.deepEqual(followRetry(snapshotOf({ retry: "r" }), halted), retried);
  assert.equal(followRetry(snapshotOf({ retry: "r", isPaused: true }), halted), halted);
  assert.equal(followRetry(snapshotOf({ retry: "r" }), retried), retried);
});

test("asks failed, silent and refused nodes again after a retry, in one decision", () => {
  const snapshot = snapshotOf({
    now: late,
    retry: "r",
    state: { ...state, proved: true, failed: ["uid-failed"], lost: ["uid-silent"] },
    policy: { ...snapshotOf().policy, maxUnavailable: 9 },
    nodes: [
      ...provedNodes(3),
      askedNode("failed", at, "Failed"),
      askedNode("silent", at),
      askedNode("refused", at, "Refused"),
    ],
  });
  const asked = decide(snapshot).actions.flatMap((action) =>
    action.kind === "ask" ? [[action.node.name, action.order.attempt > late]] : [],
  );
  assert.deepEqual(asked, [
    ["failed", true],
    ["refused", true],
    ["silent", true],
  ]);
});

test("counts no joining node as lost once the content is served", () => {
  const isServed = { secret: { ...secret, served: secret.revision } };
  const nodes = [...provedNodes(3), askedNode("silent", at)];
  const lost = (changes: Partial<Snapshot>) =>
    decide(snapshotOf({ now: late, nodes, ...changes })).actions.flatMap((action) =>
      action.kind === "save" ? action.state.lost : [],
    );
  assert.deepEqual(lost({}), ["uid-silent"]);
  assert.deepEqual(lost(isServed), []);
});

test("records no report while the policy is missing", () => {
  const nodes = [askedNode("n", at, "Failed"), ...provedNodes(1)];
  const { actions, view } = decide(snapshotOf({ nodes, isGuarded: false }));
  assert.deepEqual([actions, view.isReady, view.halt], [[], false, undefined]);
});
