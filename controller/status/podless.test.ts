import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1DaemonSet } from "@kubernetes/client-node";
import { missingPodsClock } from "./memory.ts";

const live = (current: number) =>
  ({ status: { desiredNumberScheduled: 3, currentNumberScheduled: current } }) as V1DaemonSet;

/** Second → existing agents, of three. Undefined: there is no DaemonSet. */
const rows: readonly (readonly [
  when: string,
  agents: readonly (readonly [second: number, current: number | undefined])[],
  count: number | undefined,
])[] = [
  [
    "every node has an agent",
    [
      [0, 3],
      [60, 3],
    ],
    undefined,
  ],
  [
    "nodes have lacked an agent for 9 s",
    [
      [0, 0],
      [9, 0],
    ],
    undefined,
  ],
  [
    "nodes have lacked an agent for 10 s",
    [
      [0, 0],
      [10, 1],
    ],
    2,
  ],
  [
    "every node had an agent in between",
    [
      [0, 2],
      [5, 3],
      [6, 2],
      [12, 2],
    ],
    undefined,
  ],
  [
    "the DaemonSet was deleted meanwhile",
    [
      [0, 2],
      [5, undefined],
      [6, 2],
      [12, 2],
    ],
    undefined,
  ],
];
for (const [when, agents, count] of rows)
  test(`counts ${count ?? "no"} nodes without an agent when ${when}`, () => {
    let time = 0;
    const ask = missingPodsClock(() => new Date(time * 1000));
    const reported = agents.map(([second, current]) => {
      time = 1000 + second;
      return ask(current === undefined ? undefined : live(current));
    });
    assert.equal(reported.at(-1), count);
  });
