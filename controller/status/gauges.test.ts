import assert from "node:assert/strict";
import { test } from "node:test";
import { waitReasons } from "#api/reasons.ts";
import { progressWith, rollingOut } from "../rollout/progress.fixture.ts";
import { gaugesOf, setGauges } from "./gauges.ts";
import type { Stage } from "./summary.ts";
import { createMetrics } from "./metrics.ts";
import type { Progress } from "../rollout/step.ts";
import type { Removal } from "../withdrawal/withdrawal.ts";

const nodeStates = (counts: Readonly<Record<string, number>>) =>
  Object.fromEntries(
    ["Updated", ...Object.keys(waitReasons)].map((state) => [
      `nodes{state="${state}"}`,
      counts[state] ?? 0,
    ]),
  );
const rolling = progressWith(rollingOut("rollout"));
const rollout = (progress: Progress): Stage => ({ kind: "rollout", progress });
const removal = (step: Removal["step"], progress?: Progress): Stage => ({
  kind: "removal",
  removal: { step, revision: 4, progress } as Removal,
});

const cases: readonly (readonly [what: string, stage: Stage, series: Record<string, number>])[] = [
  ["nothing is declared", { kind: "nothing", leftBehind: [] }, { revision: 0 }],
  [
    "the nodes have not been read",
    rollout({ ...rolling, view: undefined }),
    { revision: 7, rolled_out: 0, 'nodes{state="Failed"}': 9 },
  ],
  [
    "a pause holds the whole decision",
    rollout(progressWith({ view: { phase: "idle", desired: 0, pending: "paused" } })),
    { revision: 7, rolled_out: 0, 'nodes{state="Failed"}': 9 },
  ],
  [
    "a rollout",
    rollout(rolling),
    { revision: 7, rolled_out: 0, ...nodeStates({ AtWork: 1, NoPlace: 2 }) },
  ],
  [
    "a rollout that is complete",
    rollout(progressWith()),
    { revision: 7, rolled_out: 1, ...nodeStates({ Updated: 3 }) },
  ],
  [
    "newer content that waits",
    rollout(progressWith({ view: { pending: "interval" } })),
    { revision: 7, rolled_out: 1, ...nodeStates({ Updated: 3 }) },
  ],
  [
    "a rollout that halted late",
    rollout(progressWith({ view: { halt: { by: "failed", count: 1 } } })),
    { revision: 7, rolled_out: 0, ...nodeStates({ Updated: 3 }) },
  ],
  [
    "a cluster without nodes",
    rollout(progressWith({ view: { desired: 0, current: 0, isReady: false } })),
    { revision: 7, rolled_out: 1, ...nodeStates({}) },
  ],
  [
    "nothing being published yet",
    rollout(progressWith({ revision: 0 })),
    { revision: 0, rolled_out: 0, ...nodeStates({ Updated: 3 }) },
  ],
  [
    "nodes that remove the entries",
    removal("release", progressWith({ intent: "release" })),
    { revision: 7, ...nodeStates({ Updated: 3 }) },
  ],
  ["objects being deleted", removal("delete role"), { revision: 4 }],
  ["the last object being deleted", removal("delete state"), { revision: 0 }],
];

for (const [what, stage, series] of cases)
  test(`gauges: ${what}`, async () => {
    const metrics = createMetrics();
    // Values of an earlier state.
    setGauges(metrics, { revision: 3, rolledOut: 1, nodeStates: { Failed: 9 } });
    const gauges = gaugesOf(stage);
    assert.ok(gauges);
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
