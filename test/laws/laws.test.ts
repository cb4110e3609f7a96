/**
 * The laws of a rollout, for random events in a simulated cluster. truth.ts lists them. The seeds
 * are fixed; laws.long.test.ts plays thousands of others. Each law can fail: a controller that
 * breaks one rule breaks the law about it.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Order } from "#contract/order.ts";
import type { Action, Decision, NodeFacts, Snapshot } from "#controller/rollout/facts.ts";
import type { Event, EventKind } from "./events.ts";
import type { Rewrite } from "./product.ts";
import { brokenLaw, playAll } from "./run.ts";
import { defaultPolicy, type Plan } from "./schedules.ts";
import type { Law } from "./truth.ts";

const at = (t: number, kind: EventKind, who = 0, n = 0): Event => ({ t, kind, who, n });

/** Twenty nodes that get the first content within 200 s, and then these events. */
function planWith(events: readonly Event[], changes: Partial<Plan> = {}): Plan {
  return {
    seed: 1,
    nodes: 20,
    policy: defaultPolicy,
    mode: "Restart",
    cloud: "fast",
    churn: 0,
    events,
    end: 900,
    ...changes,
  };
}

const withActions = (decision: Decision, actions: readonly Action[]): Decision => ({
  ...decision,
  actions,
  again: 1,
});

const withView = (decision: Decision, changes: Partial<Decision["view"]>): Decision => ({
  ...decision,
  view: { ...decision.view, ...changes },
});

const without =
  (kind: Action["kind"]): Rewrite =>
  (decision) =>
    withActions(
      decision,
      decision.actions.filter((action) => action.kind !== kind),
    );

function orderFor({ secret, now }: Snapshot, { object }: NodeFacts): Order {
  const { revision, digest } = secret ?? { revision: 0, digest: "" };
  return {
    revision,
    digest,
    attempt: Math.max(Math.floor(now), (object?.order?.attempt ?? 0) + 1),
  };
}

/** Asks every node with an agent for the newest content. */
function askingAll(snapshot: Snapshot): readonly Action[] {
  const { secret, nodes } = snapshot;
  if (secret === undefined || secret.intent === "release") return [];
  const isAsked = ({ object }: NodeFacts) => object?.order?.revision === secret.revision;
  return nodes
    .filter((node) => node.pod?.isRunning === true && node.object !== undefined && !isAsked(node))
    .map((node) => ({ kind: "ask", node, order: orderFor(snapshot, node) }));
}

/** Selects the actions on nodes whose UIDs begin so. */
const isOf = (digits: string) => (action: Action) =>
  "node" in action && action.node.uid.startsWith(digits);

const asksAll: Rewrite = (decision, snapshot) =>
  withActions(decision, [
    ...decision.actions.filter(({ kind }) => kind !== "ask"),
    ...askingAll(snapshot),
  ]);

/** Publishes whatever is wanted, at once. */
const publishesAlways: Rewrite = (decision, { secret, target, now, template }) => {
  if (secret === undefined || secret.digest === target.digest) return decision;
  const mode = template?.mode ?? target.mode;
  const revision = Math.max(secret.revision + 1, Math.floor(now));
  return withActions(decision, [{ kind: "publish", revision, mode, served: "same" }]);
};

const isSilent = ({ reason }: { reason: string }) => reason === "silent";

const flaps = Array.from({ length: 12 }, (_, index) => at(300 + 40 * index, "edit", 0, 1));

const rows: readonly [law: Law, fault: string, rewrite: Rewrite, plan: Plan][] = [
  [
    "halt",
    "halts when one node is silent",
    (decision, { state }) =>
      state.lost.length > 0 ? withView(decision, { halt: { by: "lost", count: 1 } }) : decision,
    planWith([at(300, "edit", 0, 1), ...freezeAll(301)]),
  ],
  ["end", "promotes nothing", without("promote"), planWith([])],
  [
    "delay",
    "never gives back the place of a silent node",
    (decision, snapshot) =>
      decision.view.waiting.some(isSilent) ? without("ask")(decision, snapshot) : decision,
    planWith([at(300, "edit", 0, 1), ...freezeAll(304)]),
  ],
  [
    "publication",
    "waits until the nodes at work have answered",
    (decision, snapshot) =>
      snapshot.nodes.some(({ object }) => object?.order?.attempt !== object?.report?.attempt)
        ? without("publish")(decision, snapshot)
        : decision,
    planWith([at(300, "edit", 0, 1), ...freezeAll(301), at(320, "edit", 0, 1)]),
  ],
  [
    "break",
    "asks one more node after a halt",
    (decision, snapshot) =>
      decision.view.halt === undefined
        ? decision
        : withActions(decision, askingAll(snapshot).filter(isOf("20"))),
    planWith([at(300, "bad")]),
  ],
  [
    "join",
    "promotes without a proof",
    (decision, { secret }) =>
      secret !== undefined && secret.served !== secret.revision
        ? withActions(decision, [...decision.actions, { kind: "promote" }])
        : decision,
    planWith([at(300, "bad"), at(310, "join")]),
  ],
  [
    "removal",
    "publishes no removal",
    (decision, snapshot) =>
      snapshot.target.removes ? without("publish")(decision, snapshot) : decision,
    planWith([at(300, "withdrawOne", 0, 1)]),
  ],
  ["window", "asks every node after the first proof", asksAll, planWith([at(300, "edit", 0, 1)])],
  [
    "back",
    "asks for the served content",
    (decision, { secret }) =>
      withActions(
        decision,
        decision.actions.map((action) =>
          action.kind === "ask" && secret !== undefined && secret.served > 0
            ? { ...action, order: { ...action.order, revision: secret.served } }
            : action,
        ),
      ),
    planWith([at(300, "edit", 0, 1)]),
  ],
  [
    "restart",
    "asks a failed node again and again",
    (decision, snapshot) =>
      withActions(decision, [
        ...decision.actions,
        ...snapshot.nodes
          .filter(({ object }) => object?.report?.result === "Failed")
          .map((node) => ({ kind: "ask", node, order: orderFor(snapshot, node) }) as const),
      ]),
    planWith([at(300, "bad")]),
  ],
  [
    "break",
    "leaves a former Node's order to a new machine",
    without("delete"),
    planWith([at(300, "badSilent"), at(305, "sameName", 2, 1)], { seed: 95, nodes: 6 }),
  ],
  [
    "restart",
    "deletes the objects of nodes that failed",
    (decision, { nodes }) =>
      withActions(decision, [
        ...decision.actions,
        ...nodes.flatMap(({ name, uid, object }): Action[] =>
          object?.report?.result === "Failed"
            ? [{ kind: "delete", node: { name, uid, object } }]
            : [],
        ),
      ]),
    planWith([at(300, "badSome")], { policy: { ...defaultPolicy, maxFailures: 2 } }),
  ],
  [
    "status",
    "is always Ready",
    (decision) => withView(decision, { isReady: true }),
    planWith([at(300, "bad")]),
  ],
  [
    "status",
    "leaves nobody behind",
    (decision) =>
      withActions(
        decision,
        decision.actions.map((action) =>
          action.kind === "complete" ? { ...action, leftBehind: [] } : action,
        ),
      ),
    planWith([at(290, "freeze", 3, 999), at(300, "withdraw")], { end: 3000 }),
  ],
  ["budget", "publishes every edit at once", publishesAlways, planWith(flaps)],
  [
    "upgrade",
    "gives an upgrade its whole budget at once",
    (decision) =>
      withActions(
        decision,
        decision.actions.map((action) =>
          action.kind === "write-template" ? { ...action, maxUnavailable: 4 } : action,
        ),
      ),
    planWith([at(300, "crashUpgrade")]),
  ],
  [
    "held",
    "asks during a pause",
    (decision, snapshot) =>
      snapshot.isPaused ? withActions(decision, askingAll(snapshot)) : decision,
    planWith([at(300, "edit", 0, 1), at(301, "pause", 0, 150)]),
  ],
];

/** Freezes every agent for a long time, so that whoever is asked is silent. */
function freezeAll(t: number): Event[] {
  return Array.from({ length: 20 }, (_, who) => at(t, "freeze", who, 600));
}

for (const [law, fault, rewrite, plan] of rows)
  test(`breaks the law "${law}" with a controller that ${fault}`, () => {
    assert.equal(brokenLaw(plan)?.message, undefined);
    const broken = brokenLaw(plan, { rewrite });
    assert.equal(broken?.law, law, broken?.message);
  });

test("keeps every law if the clock is set back before content that breaks some kubelets", () => {
  const events = [at(312, "clock", 0, 363), at(314, "badSomeSilent")];
  for (let seed = 1; seed <= 10; seed += 1)
    assert.equal(
      brokenLaw(planWith(events, { seed, nodes: 37 }))?.message,
      undefined,
      `seed ${seed}`,
    );
});

for (const kind of ["edit", "withdrawOne", "bad", "withdraw", "join", "upgrade"] as const)
  test(`keeps every law if etcd is restored after the event ${kind}`, () => {
    for (let seed = 1; seed <= 10; seed += 1) {
      const events = [at(300, "etcdBackup"), at(310, kind, seed, 1), at(380, "etcdRestored")];
      assert.equal(brokenLaw(planWith(events, { seed }))?.message, undefined, `seed ${seed}`);
    }
  });

test("keeps every law, whatever happens to the cluster", () => {
  playAll(1, 200, 20);
});

test("keeps every law in clusters of up to 60 nodes", () => {
  playAll(10_001, 40, 60);
});
