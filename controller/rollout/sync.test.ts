/**
 * When the controller raises the annotation `sync` of a pod. It does so only if the pod does not
 * prove its grant in time, so a rotation usually costs one patch of each pod: the grant.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { having, pass, servedCluster, until } from "#test/model/cluster.ts";
import { decided } from "#test/model/product.ts";
import type { Mode, World } from "#test/model/world.ts";
import type { Snapshot } from "./facts.ts";

const driver = { rewrite: {} };

/** The transition time of the pod's readiness when the pod gets the grant. */
const since = -8000;

/** Changes of the pod's readiness, by the seconds after its grant. */
type Changes = readonly (readonly [second: number, ready: boolean, since?: number])[];

type Row = readonly [
  what: string,
  changes: Changes,
  syncs: readonly number[],
  how?: Readonly<{ word?: true; mode?: Mode; probation?: number; own?: number; back?: true }>,
];

const begins = [1, false] as const;
const rows: readonly Row[] = [
  ["a pod that stays Ready", [], [5, 10, 20, 40]],
  ["a canary that stays Ready", [], [5, 10, 20, 40], { word: true }],
  ["a pod that turns unready late", [[6, false]], [5, 20, 40]],
  ["a pod that proves its grant", [begins, [9, true]], []],
  [
    "a pod that proves its grant, with a long probation",
    [begins, [50, true]],
    [],
    { probation: 40 },
  ],
  [
    "a pod that proves its grant, with the long probation of an older template",
    [begins, [50, true]],
    [],
    { own: 40 },
  ],
  ["a pod that proves its grant in mode Reread", [begins, [308, true]], [], { mode: "Reread" }],
  ["a pod that stays unready, as when the kubelet still has the older Secret", [begins], [20, 40]],
  ["a pod that stays unready, with a long probation", [begins], [55], { probation: 40 }],
  [
    "a pod that stays unready in mode CredentialProvider",
    [begins],
    [20, 40],
    { mode: "CredentialProvider" },
  ],
  ["a pod that stays unready in mode Reread", [begins], [320], { mode: "Reread" }],
  [
    "a canary that is Ready again without its termination message",
    [begins, [5, true]],
    [8, 10, 20, 40],
    { word: true },
  ],
  ["a canary that is Ready for 2 s", [begins, [9, true], [11, false]], [20, 40], { word: true }],
  ["a pod that was unready before its grant", [[0, false, since]], [5, 10, 20, 40]],
  [
    "a pod that turns unready in the second in which it turned Ready",
    [[1, false, since]],
    [5, 10, 20, 40],
  ],
  ["a pod that confirms a revocation", [begins, [9, true]], [], { back: true }],
];
for (const [what, changes, expected, how = {}] of rows)
  test(`raises sync at ${expected.join(", ") || "no"} seconds for ${what}`, () => {
    const w = granted(how);
    const [pod] = w.api.pods.values();
    assert.ok(pod);
    const snapshot = probations(how.probation ?? 5, how.own);
    const syncs: number[] = [];
    // Like the controller, decides only when the pod changes or at the time that a decision named.
    let due = 0;
    for (w.t = 0; w.t < 330; w.t += 1) {
      const change = changes.find(([at]) => at === w.t);
      if (change === undefined && w.t < due) continue;
      if (change !== undefined) {
        const [, ready, changed = w.t] = change;
        Object.assign(pod, { ready, since: changed });
      }
      const { actions, memory, again } = decided(w, w.api, { snapshot });
      w.memory = memory;
      due = w.t + again;
      if (actions.some(({ kind }) => kind === "sync")) syncs.push(w.t);
    }
    assert.deepEqual(syncs, expected);
  });

/** A cluster of one node, right after the first patch of revision 4. */
function granted({ word, mode, back }: NonNullable<Row[3]>): World {
  const w = servedCluster({ seed: 1, nodes: 1, budget: 1 });
  const digest = "9.2";
  const { api } = w;
  api.a = 9;
  api.want = { ...api.want, mode: mode ?? "Restart" };
  w.templates.set(api.want.n, api.want);
  api.ds = { template: api.want };
  const secret = { rev: 4, digest, mode: api.want.mode, served: 3, servedDigest: "1.2", at: 0 };
  api.secret = secret;
  api.state = { ...api.state, rev: 4, word: word === undefined };
  const [pod] = api.pods.values();
  assert.ok(pod);
  pod.ready = true;
  pod.since = since;
  pod.grant = { rev: back ? 0 : 4, digest: back ? "4" : digest, since, word: word === true };
  return w;
}

/** Changes a snapshot: the policy has this probation, and the pods have the probation `own`. */
const probations = (probation: number, own?: number) => (seen: Snapshot) => ({
  ...seen,
  policy: { ...seen.policy, probation },
  pods: seen.pods.map((pod) => Object.assign({}, pod, { probation: own })),
});

test("fails a node only after the time that its pod's own probation allows, even if the policy's probation is now shorter", () => {
  const w = granted({});
  const [pod] = w.api.pods.values();
  assert.ok(pod);
  Object.assign(pod, { ready: false, since: 0 });
  const snapshot = probations(5, 200);
  const failed: number[] = [];
  for (w.t = 0; w.t < 1100; w.t += 10) {
    const { view, memory } = decided(w, w.api, { snapshot });
    w.memory = memory;
    failed.push(view.counts.failed);
  }
  // A change with a probation of 200 s can take 1,020 s.
  assert.deepEqual([failed.indexOf(1), failed.at(-1)], [103, 1]);
});

test("raises sync in a rotation only for nodes that do not have the content yet", () => {
  const w = servedCluster({ seed: 1, nodes: 40, budget: 4 });
  pass(w, driver, 20);
  w.api.a = 200;
  w.truth.allowed += 1;
  const raised = () => [...w.api.pods.values()].map(({ node, sync }) => [node, sync] as const);
  const isOver = () => having(w, "200.2") === 40 && w.api.secret?.served === w.api.secret?.rev;
  let before = new Map<string, number>();
  const early: string[] = [];
  const watch = () => {
    for (const [node, sync] of raised())
      if (sync > (before.get(node) ?? 0) && w.machines.get(node)?.file === "200.2")
        early.push(node);
    before = new Map(raised());
    return isOver();
  };
  assert.ok(until(w, driver, 1000, watch) < 1000);
  assert.deepEqual(early, []);
});
