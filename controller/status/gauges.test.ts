import assert from "node:assert/strict";
import { test } from "node:test";
import { progressWith, rollingOut } from "../rollout/progress.fixture.ts";
import { deleting, gaugesOf, nothing, setGauges, type Gauges } from "./gauges.ts";
import { createMetrics } from "./metrics.ts";

const totals = { nodes_desired: 3, nodes_available: 3 };
const nodeStates = (counts: Readonly<Record<string, number>>) =>
  Object.fromEntries(
    ["current", "changing", "waiting", "starting", "failed", "excused"].map((state) => [
      `nodes{state="${state}"}`,
      counts[state] ?? 0,
    ]),
  );
const rolling = progressWith(rollingOut("rollout"));

const cases: readonly (readonly [state: string, gauges: Gauges, series: Record<string, number>])[] =
  [
    ["nothing is declared", nothing, { revision: 0 }],
    [
      "the agents' pods have not been read",
      gaugesOf({ ...rolling, view: undefined }, false),
      { revision: 7, rolled_out: 0, 'nodes{state="failed"}': 9 },
    ],
    [
      "a rollout",
      gaugesOf(rolling, false),
      {
        revision: 7,
        rolled_out: 0,
        ...totals,
        nodes_updated: 0,
        ...nodeStates({ changing: 1, waiting: 2 }),
      },
    ],
    [
      "a rollout that is complete",
      gaugesOf(progressWith(), false),
      { revision: 7, rolled_out: 1, ...totals, nodes_updated: 3, ...nodeStates({ current: 3 }) },
    ],
    [
      "nodes that remove the entries",
      gaugesOf(progressWith({ intent: "release" }), true),
      { revision: 7, ...totals, nodes_updated: 3, ...nodeStates({ current: 3 }) },
    ],
    ["objects being deleted", deleting(4), { revision: 4 }],
  ];

for (const [state, gauges, series] of cases)
  test(`gauges: ${state}`, async () => {
    const metrics = createMetrics();
    // Values of an earlier state.
    setGauges(metrics, {
      revision: 3,
      rolledOut: 1,
      nodes: { desired: 8, updated: 8, available: 8 },
      nodeStates: { failed: 9 },
    });
    setGauges(metrics, gauges);
    const lines = (await metrics.registry.metrics()).split("\n").map((line) => line.split(" "));
    const ours = lines.filter(([name = ""]) =>
      /^global_pull_secret_(revision|rolled_out|nodes)/.test(name),
    );
    assert.deepEqual(
      Object.fromEntries(
        ours.map(([name = "", value]) => [name.replace("global_pull_secret_", ""), Number(value)]),
      ),
      series,
    );
  });
