import assert from "node:assert/strict";
import { test } from "node:test";
import type { Progress } from "../rollout/step.ts";
import { deleting, gaugesOf, nothing, show, type Gauges } from "./gauges.ts";
import { createMetrics } from "./metrics.ts";
import type { Turn } from "#controller/rollout/turn/turn.ts";

const strategy = { stage: "wave", maxUnavailable: 1 } as const;
const served: Turn = { kind: "served", strategy, reason: "", again: undefined };
const wait: Turn = { kind: "wait", phase: "wave", strategy, reason: "", again: 9 };
const daemonSetState = { desired: 3, updated: 2, available: 1 };
const progress = (turn: Turn, counts?: object) =>
  ({ revision: 4, turn, daemonSetState, counts }) as unknown as Progress;
const totals = { nodes_desired: 3, nodes_updated: 2, nodes_available: 1 };

/** A state, what it is, and every series of it. */
const cases: readonly (readonly [state: string, gauges: Gauges, series: Record<string, number>])[] =
  [
    ["nothing is declared", nothing, { revision: 0 }],
    [
      "a rollout",
      gaugesOf(progress(wait), false),
      { revision: 4, rolled_out: 0, ...totals, 'nodes{state="failed"}': 9 },
    ],
    [
      "a rollout that was looked into",
      gaugesOf(progress(wait, { total: 3, served: 2, failed: 1 }), false),
      {
        revision: 4,
        rolled_out: 0,
        ...totals,
        'nodes{state="served"}': 2,
        'nodes{state="failed"}': 1,
      },
    ],
    [
      "a rollout that is out",
      gaugesOf(progress(served), false),
      { revision: 4, rolled_out: 1, ...totals, 'nodes{state="served"}': 3 },
    ],
    [
      "nodes giving back",
      gaugesOf(progress(wait), true),
      { revision: 4, ...totals, 'nodes{state="failed"}': 9 },
    ],
    ["objects being deleted", deleting(4), { revision: 4 }],
  ];

for (const [state, gauges, series] of cases)
  test(`gauges: ${state}`, async () => {
    const metrics = createMetrics();
    // Left from before.
    show(metrics, {
      revision: 3,
      rolledOut: 1,
      nodes: { desired: 8, updated: 8, available: 8 },
      fates: { failed: 9 },
    });
    show(metrics, gauges);
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
