/**
 * Proves that the laws can fail. Each row switches off one rule of the product, by changing the
 * input, the memory or the actions of a decision. The row also names the law that then fails.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Action, Decision, GrantPolicy, PodFacts, StateFacts } from "./facts.ts";
import { broken, planOf, type Plan } from "#test/model/schedules.ts";
import { playAll } from "#test/model/play.ts";
import type { Rewrite } from "#test/model/product.ts";

const state = (changes: Partial<StateFacts>): Rewrite => ({
  snapshot: (seen) => ({ ...seen, state: { ...seen.state, ...changes } }),
});
const policy = (change: (policy: GrantPolicy) => Partial<GrantPolicy>): Rewrite => ({
  snapshot: (seen) => ({ ...seen, policy: { ...seen.policy, ...change(seen.policy) } }),
});
const actions = (change: (action: Action) => Action | undefined): Rewrite => ({
  decision: (decision: Decision) => ({
    ...decision,
    actions: decision.actions.map(change).filter((action) => action !== undefined),
  }),
});
const without = (kind: Action["kind"]): Rewrite =>
  actions((action) => (action.kind === kind ? undefined : action));
const more = (most: number | "all"): number | "all" => (most === "all" ? "all" : most + 2);

const forgetful: Rewrite = {
  memory: (memory) => ({
    ...memory,
    places: new Map(),
    pods: new Map([...memory.pods].map(([uid, record]) => [uid, { ...record, holds: false }])),
  }),
};
const pods = (change: (pod: PodFacts) => Partial<PodFacts>): Rewrite => ({
  snapshot: (seen) => ({
    ...seen,
    pods: seen.pods.map((pod) => Object.assign({}, pod, change(pod))),
  }),
});
const unsettled: Rewrite = {
  memory: (memory) => ({
    ...memory,
    pods: new Map([...memory.pods].map(([uid, record]) => [uid, { ...record, isSettled: false }])),
  }),
};
const oldNodes: Rewrite = {
  snapshot: (seen) => ({
    ...seen,
    nodes: {
      ...seen.nodes,
      byName: new Map(
        [...seen.nodes.byName].map(([name, node]) => [name, node && { ...node, created: 0 }]),
      ),
    },
    pods: seen.pods.map((pod) => Object.assign({}, pod, { created: 0 })),
  }),
};

/** A plan with these events. The cluster has six nodes, and one node changes at a time. */
const plan =
  (...events: readonly (readonly [t: number, kind: string, who: number, n: number])[]) =>
  (seed: number): Plan => ({
    ...planOf(seed),
    nodes: 6,
    budget: 1,
    maxFailures: 0,
    minInterval: 0,
    mode: "Restart",
    churn: 0,
    events: events.map(([t, kind, who, n]) => ({ t, kind, who, n })),
    end: 400,
  });
const every = (from: number, step: number, kind: string) =>
  Array.from({ length: 12 }, (_, at) => [from + step * at, kind, 0, 0] as const);

/** Content breaks every kubelet. Then, every 15 s, the first Node of the list is deleted. */
const lostCanaries = plan([150, "badSilent", 0, 0], ...every(165, 15, "leave"));
/** A source is withdrawn while a change is under way, and a node joins. */
const joiner = plan([150, "edit", 0, 1], [158, "withdrawOne", 0, 3], [160, "join", 0, 0]);
const oneLeaves = (seed: number): Plan => ({
  ...plan([150, "edit", 0, 1], [160, "withdrawOne", 0, 3])(seed),
  minInterval: 100,
});
const badContent = plan([150, "bad", 0, 0]);
const twoMayFail = (seed: number): Plan => ({ ...badContent(seed), maxFailures: 2 });
const badImage = plan([150, "badUpgrade", 0, 0]);
const deletions = plan([150, "edit", 0, 1], ...every(155, 4, "podDelete"));
const unfit = plan([140, "unfit", 0, 200], [150, "edit", 0, 1]);
/** A node has the newest content, and after a reboot its agent cannot start. */
const stoppedAgent = (seed: number): Plan => ({
  ...plan([300, "unstartable", 0, 1], [301, "power", 0, 5])(seed),
  end: 1000,
});
const absentCanary = plan(
  [150, "edit", 0, 1],
  ...[0, 1, 2, 3, 4, 5].map((who) => [152, "away", who, 300] as const),
);
const withdrawal = plan([150, "withdraw", 0, 0]);

type Row = readonly [rule: string, law: string, rewrite: Rewrite, plans: (seed: number) => Plan];

const rows: readonly Row[] = [
  [
    "at first, only the canary gets content",
    "one first",
    state({ word: true, base: Infinity }),
    planOf,
  ],
  [
    "at most maxUnavailable grants are unproved",
    "window",
    policy(({ maxUnavailable }) => ({ maxUnavailable: more(maxUnavailable) })),
    planOf,
  ],
  ["the slot of a deleted pod stays occupied", "window", forgetful, deletions],
  ["failures are recorded", "breaking content", state({ failed: [] }), twoMayFail],
  [
    "a canary that disappears counts as failed",
    "breaking content",
    state({ canary: undefined }),
    lostCanaries,
  ],
  [
    "more than maxFailures failures halt a rollout",
    "breaking content",
    policy(() => ({ maxFailures: 1000 })),
    badContent,
  ],
  [
    "a retry ends a halt",
    "ends",
    { snapshot: (seen) => ({ ...seen, retry: seen.state.retry }) },
    absentCanary,
  ],
  ["grants of excused nodes are revoked", "ends", without("take-back"), unfit],
  [
    "a served slot with a withdrawn source is emptied at once",
    "withdrawn credential",
    without("empty-served"),
    joiner,
  ],
  [
    "a publication empties a served slot that contains a withdrawn source",
    "withdrawn credential",
    actions((action) => (action.kind === "publish" ? { ...action, served: "newest" } : action)),
    plan([150, "withdrawOne", 0, 3], [151, "join", 0, 0], [153, "join", 0, 0]),
  ],
  [
    "the withdrawal of a source does not wait for minInterval",
    "prompt withdrawal",
    {
      snapshot: (seen) => ({
        ...seen,
        target: { ...seen.target, withdraws: { newest: false, served: false } },
      }),
    },
    oneLeaves,
  ],
  [
    "a canary proves content by its termination message",
    "ends",
    actions((action) =>
      action.kind === "grant" ? { ...action, grant: { ...action.grant, word: false } } : action,
    ),
    planOf,
  ],
  [
    "a promotion needs the canary's proof",
    "status",
    {
      decision: (decision) => ({
        ...decision,
        actions: [...decision.actions, { kind: "promote" }],
      }),
    },
    planOf,
  ],
  [
    "a promotion waits for the nodes that have older content",
    "promotion",
    state({ base: -1 }),
    planOf,
  ],
  [
    "a node that failed waits ten minutes for the same content",
    "repeated failure",
    pods(({ grant }) => ({ grant: grant?.revision === 0 ? { ...grant, digest: "" } : grant })),
    twoMayFail,
  ],
  ["a proved grant stays", "kept grants", unsettled, stoppedAgent],
  [
    "a pause delays grants",
    "pause",
    { snapshot: (seen) => ({ ...seen, isPaused: false }) },
    plan([150, "edit", 0, 1], [155, "pause", 0, 0]),
  ],
  ["replaced nodes are recorded", "image", state({ replaced: [] }), badImage],
  ["pods of older templates are replaced", "ends", without("delete"), plan([150, "upgrade", 0, 0])],
  [
    "a new revision exceeds all published revisions",
    "restart once",
    actions((action) => (action.kind === "publish" ? { ...action, revision: 7 } : action)),
    planOf,
  ],
  [
    "each content is published once",
    "revisions",
    {
      snapshot: (seen) => ({
        ...seen,
        template: seen.template && { isCurrent: true, mode: "Reread" },
      }),
    },
    planOf,
  ],
  ["a Node that joined later need not confirm", "ends", oldNodes, (seed) => planOf(seed + 45)],
  [
    "a withdrawal waits for every Node",
    "ends",
    {
      decision: (decision) => ({
        ...decision,
        actions: decision.actions.map((action) =>
          action.kind === "complete" ? { ...action, isConfirmed: true } : action,
        ),
      }),
      ...policy(() => ({ forgetAfter: 0 })),
    },
    withdrawal,
  ],
];

for (const [rule, law, rewrite, plans] of rows)
  test(`breaks the law "${law}" without the rule that ${rule}`, () => {
    const laws = new Set<string>();
    for (let seed = 1; seed <= 60 && !laws.has(law); seed++)
      laws.add(broken(plans(seed), { rewrite })?.law ?? "none");
    assert.ok(laws.has(law), [...laws].join());
    // With the rule, the same plan keeps every law.
    playAll(1, 1, { rewrite: {} }, plans);
  });
