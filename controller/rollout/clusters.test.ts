/**
 * Clusters in which an earlier version could not begin or complete a change: nodes that come and
 * go, nodes that cannot start the agent, and outages. All times are seconds of the model.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { noMemory } from "./facts.ts";
import {
  emptyCluster,
  having,
  lastView,
  pass,
  served,
  servedCluster,
  until,
  withUnstartable,
} from "#test/model/cluster.ts";
import { churnTable } from "#test/model/churn-table.ts";
import { join, RELEASE, type Machine, type Pod, type World } from "#test/model/world.ts";

const driver = { rewrite: {} };

test("begins and completes every change and withdrawal while nodes come and go", () => {
  churnTable([{ nodes: 300, churn: 2 }]);
});

for (const why of ["image", "podless"] as const)
  for (const [broken, nodes, budget] of [
    [12, 100, 10],
    [3, 20, 2],
    [40, 100, 10],
    [3, 100, 1],
  ] as const)
    test(`serves all other nodes when ${broken} of ${nodes} nodes have ${why === "image" ? "an image that cannot start" : "no pod"}`, () => {
      const w = emptyCluster({ seed: 1, nodes, budget });
      withUnstartable(w, broken, why);
      const most = 300 + (15 * nodes) / budget;
      const seconds = until(w, driver, most, () => having(w, "1.2") === nodes - broken);
      assert.ok(seconds < most, `${having(w, "1.2")} nodes have it`);
      pass(w, driver, 200);
      assert.equal(served(w), "1.2");
      assert.equal(w.truth.revisions, 1);
      const { excused, counts } = lastView(w);
      assert.equal(counts.current, nodes - broken);
      const reason = why === "image" ? "not-started" : "podless";
      const waitingReason = why === "image" ? "ImagePullBackOff" : undefined;
      assert.deepEqual(
        excused.map((entry) => Object.assign({}, entry, { node: "" })),
        Array.from({ length: broken }, () => ({ node: "", reason, waitingReason })),
      );
    });

for (const [joining, nodes] of [
  [1, 9],
  [10, 10],
  [20, 20],
] as const)
  test(`reports a rollout as complete only when the nodes that joined before its promotion have the content: ${joining} nodes join ${nodes} nodes`, () => {
    const w = servedCluster({ seed: 7, nodes, budget: 2 });
    const { api } = w;
    pass(w, driver, 10);
    api.a = 200;
    w.truth.allowed += 1;
    assert.ok(
      until(w, driver, 100, () => api.state.word && api.state.rev === api.secret?.rev) < 100,
    );
    for (let at = 0; at < joining; at++) join(w, `early${at}`);
    const isPromoted = (): boolean => api.secret?.served === api.secret?.rev;
    assert.ok(until(w, driver, 1000, isPromoted) < 1000);
    assert.ok(having(w, "200.2") < w.machines.size && api.state.awaited >= 0);
    // Nodes that join after the promotion delay nothing, however many they are.
    const isOut = (): boolean => {
      if (w.t % 5 === 0) join(w, `late${w.t}`);
      return api.state.awaited < 0;
    };
    assert.ok(until(w, driver, 1000, isOut) < 1000);
    const isOld = ({ name, loaded }: Machine): boolean =>
      !name.startsWith("late") && loaded !== "200.2";
    assert.deepEqual([...w.machines.values()].filter(isOld), []);
  });

for (const away of [34, 60])
  test(`when ${away} of 100 nodes are unreachable, begins a withdrawal at once on the other nodes`, () => {
    const w = servedCluster({ seed: 1, nodes: 100, budget: 10 });
    pass(w, driver, 10);
    const names = [...w.machines.keys()].slice(0, away);
    for (const name of names) Object.assign(w.machines.get(name) ?? {}, { net: 600 });
    pass(w, driver, 120);
    w.api.a = w.api.b = 0;
    w.truth.allowed += 1;
    const isGranted = () => [...w.api.pods.values()].some(({ grant }) => grant?.digest === RELEASE);
    assert.ok(until(w, driver, 10, isGranted) <= 3);
    const seconds = until(w, driver, 300, () => having(w, RELEASE) === 100 - away);
    assert.ok(seconds <= 180, `${seconds} s`);
    assert.notEqual(w.api.ds, null, "the unreachable nodes must confirm as well");
    const ends = until(w, driver, 900, () => w.api.ds === null && w.api.secret === null);
    assert.ok(ends < 700 && having(w, RELEASE) === 100);
  });

test("removes the entries from a node that joined while the controller wrote the withdrawal", () => {
  const w = servedCluster({ seed: 1, nodes: 4, budget: 1 });
  w.writes = 40;
  pass(w, driver, 10);
  join(w, "late");
  assert.ok(until(w, driver, 30, () => having(w, "1.2") === 5) < 30);
  pass(w, driver, 15);
  w.api.a = w.api.b = 0;
  w.truth.allowed += 1;
  assert.ok(until(w, driver, 900, () => w.api.ds === null) < 900);
  assert.equal(having(w, RELEASE), 5);
});

const byHand: readonly (readonly [what: string, harm: (w: World) => void])[] = [
  [
    "someone replaced global-pull-secret while grants were unproved",
    (w) => {
      w.api.secret = null;
      w.truth.allowed += 1;
    },
  ],
  ["someone wrote a grant for content that does not exist", (w) => plant(w, 9, "x")],
  [
    "someone wrote a grant with the highest possible revision, and replaced global-pull-secret",
    (w) => {
      plant(w, 999_999_999_999_999, "");
      w.api.secret = null;
      w.truth.allowed += 1;
    },
  ],
];

function plant(w: World, rev: number, digest: string): void {
  const pod = [...w.api.pods.values()].at(-1);
  if (pod) Object.assign(pod, { grant: { rev, digest, since: pod.since, word: false }, rv: 99 });
}

for (const [what, harm] of byHand)
  test(`serves all nodes within 90 s when ${what}`, () => {
    const w = servedCluster({ seed: 1, nodes: 5, budget: 2 });
    w.api.a = 200;
    w.truth.allowed += 1;
    const isGranted = ({ grant, node }: Pod) =>
      grant?.digest === "200.2" && w.machines.get(node)?.file !== "200.2";
    const isAt = () => having(w, "200.2") > 0 && [...w.api.pods.values()].some(isGranted);
    assert.ok(until(w, driver, 60, isAt) < 60);
    harm(w);
    const seconds = until(w, driver, 300, () => having(w, "200.2") === 5 && served(w) === "200.2");
    assert.ok(seconds <= 90, `${seconds} s`);
    assert.ok((w.api.secret?.rev ?? Infinity) < 9);
  });

test("serves all other nodes when the canary never answers and one node is allowed to fail", () => {
  const w = servedCluster({ seed: 1, nodes: 5, budget: 2 });
  Object.assign(w.api, { a: 200, maxFailures: 1 });
  w.truth.allowed += 1;
  const grants = () => [...w.api.pods.values()].filter(({ grant }) => grant?.digest === "200.2");
  assert.ok(until(w, driver, 10, () => grants().length > 0) < 10);
  const [canary] = grants();
  Object.assign(w.machines.get(canary?.node ?? "") ?? {}, { wait: Infinity });
  // The canary fails after 455 s. Nothing shows that the change on its node has ended, so its slot
  // becomes free only after another 455 s.
  assert.ok(until(w, driver, 1200, () => having(w, "200.2") === 4 && served(w) === "200.2") < 1000);
  assert.deepEqual(
    lastView(w).failed.map(({ node, reason }) => [node, reason]),
    [[canary?.node, "late"]],
  );
});

test("retries a node less and less often while it keeps failing", () => {
  const w = servedCluster({ seed: 1, nodes: 6, budget: 1 });
  const rankOf = ({ id }: Machine): number => (id * 37) % 100;
  const [first] = [...w.machines.values()].toSorted((a, b) => rankOf(a) - rankOf(b));
  assert.ok(first);
  // The content breaks only this kubelet.
  w.bad.set(500, { silent: false, percent: rankOf(first) + 1 });
  Object.assign(w.api, { a: 500, maxFailures: 1 });
  w.truth.allowed += 1;
  const grants = new Set<string>();
  until(w, driver, 6 * 3600, () => {
    const grant = w.api.pods.get(first.name)?.grant;
    if (grant?.digest === "500.2") grants.add(`${grant.since}`);
    return false;
  });
  assert.equal(served(w), "500.2");
  // The first grant, and the grants about 10, 30, 70, 150 and 310 minutes later.
  assert.equal(grants.size, 6);
});

/**
 * Stops the agents of the first `count` nodes for good, and lets 100 s pass. Returns the names of
 * these nodes.
 */
function stopAgents(w: World, count: number): readonly string[] {
  const stopped = [...w.machines.values()].slice(0, count);
  for (const m of stopped) Object.assign(m, { running: false, unstartable: "image" });
  pass(w, driver, 100);
  return stopped.map(({ name }) => name);
}

test("chooses the canary among nodes whose agent runs, and grants nothing if no agent runs", () => {
  const w = servedCluster({ seed: 1, nodes: 5, budget: 2 });
  const stopped = new Set(stopAgents(w, 4));
  w.api.a = 200;
  w.truth.allowed += 1;
  assert.ok(until(w, driver, 60, () => having(w, "200.2") === 1) < 60);
  stopAgents(w, 5);
  w.api.a = 201;
  w.truth.allowed += 1;
  pass(w, driver, 100);
  for (const { node, grant } of w.api.pods.values())
    if (stopped.has(node)) assert.notEqual(grant?.digest, "200.2");
    else assert.notEqual(grant?.digest, "201.2");
});

test("does not delay a withdrawal when 40 of 100 agents cannot start", () => {
  const w = servedCluster({ seed: 1, nodes: 100, budget: 10 });
  stopAgents(w, 40);
  w.api.a = w.api.b = 0;
  w.truth.allowed += 1;
  const seconds = until(w, driver, 300, () => having(w, RELEASE) === 60);
  assert.ok(seconds <= 150, `${seconds} s`);
  assert.equal(lastView(w).counts.excused, 40);
});

test("when a controller starts and some agents cannot start, neither halts nor waits", () => {
  const w = servedCluster({ seed: 1, nodes: 20, budget: 2 });
  stopAgents(w, 3);
  w.memory = noMemory;
  pass(w, driver, 300);
  assert.deepEqual([lastView(w).phase, lastView(w).failures], ["served", 0]);
  w.api.a = 200;
  w.truth.allowed += 1;
  const hasBegun = () => [...w.api.pods.values()].some(({ grant }) => grant?.digest === "200.2");
  assert.ok(until(w, driver, 20, hasBegun) <= 10);
  assert.ok(until(w, driver, 300, () => having(w, "200.2") === 17) < 200);
});
