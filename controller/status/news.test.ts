/** Troubles and news of a rollout. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { idleView } from "#controller/rollout/survey.ts";
import { listed, progressWith, rollingOut } from "../rollout/progress.fixture.ts";
import { newsOf, troublesOf } from "./messages.ts";

const { counts } = idleView;
const stuck = (count: number, reason: Parameters<typeof listed>[1], waiting?: string) =>
  Array.from({ length: count }, (_, at) => listed(`n${at}`, reason, waiting));
const canary = (view: Parameters<typeof rollingOut>[1]) =>
  progressWith(rollingOut("canary", { counts, ...view }));

/**
 * Situation → the kind of trouble, and part of its message. Empty if the situation passes by
 * itself.
 */
const table: readonly (readonly [
  when: string,
  progress: ReturnType<typeof progressWith>,
  said: readonly (readonly [kind: string, words: RegExp])[],
])[] = [
  [
    "no node can start its agent",
    canary({ excused: stuck(3, "not-started", "ImagePullBackOff") }),
    [["unserved", /GPS327 .*n0: GPS336 the node's agent does not start: ImagePullBackOff/]],
  ],
  [
    "no agent can be scheduled, and some nodes are unreachable",
    canary({ excused: [...stuck(2, "not-started", "Unschedulable"), listed("far", "away")] }),
    [["unserved", /n1: GPS336 the node's agent does not start: Unschedulable/]],
  ],
  [
    "no node has an agent pod",
    canary({ excused: stuck(2, "podless") }),
    [["unserved", /n0: GPS337 the node has no agent pod/]],
  ],
  ["every node is unreachable", canary({ excused: stuck(3, "away") }), []],
  [
    "3 of 20 nodes cannot start their agent before the canary",
    canary({
      excused: stuck(3, "not-started", "ErrImagePull"),
      counts: { ...counts, waiting: 17 },
    }),
    [],
  ],
  [
    "40 of 100 nodes cannot start their agent",
    progressWith(rollingOut("rollout", { excused: stuck(40, "not-started", "ErrImagePull") })),
    [],
  ],
  [
    "a rollout is halted",
    progressWith(
      rollingOut("halted", {
        failures: 1,
        failed: [listed("a", "late")],
        excused: stuck(1, "away"),
      }),
    ),
    [
      [
        "halted",
        /GPS305 .* no other node gets it: a: GPS335 the node's agent did not answer in time; to try/,
      ],
    ],
  ],
  [
    "a rollout is halted because of a node that is gone",
    progressWith(rollingOut("halted", { failures: 1, excused: stuck(1, "away") })),
    [["halted", /failed on 1 node and no other node gets it; to try/]],
  ],
  [
    "the API server refuses to delete an older agent's pod",
    progressWith({ view: { kept: [{ node: "a", why: "no deletions here" }] } }),
    [
      [
        "upgradeRefused",
        /GPS329 .*refuses to delete the agent's older pod on 1 node: a: no deletions here;/,
      ],
    ],
  ],
  [
    "nodes failed with a revision that the other nodes have",
    progressWith({ view: { failed: [listed("a", "late")], excused: [listed("b", "away")] } }),
    [
      [
        "failed",
        /GPS328 .*revision 7 failed on 1 node: a: GPS335 the node's agent did not answer in time;/,
      ],
    ],
  ],
  ["the agents' pods were not read", { ...canary({}), view: undefined }, []],
];

for (const [when, progress, said] of table)
  test(`reports ${said.map(([kind]) => kind).join() || "no trouble"} when ${when}`, () => {
    const found = troublesOf(progress);
    assert.deepEqual(
      found.map(([kind]) => kind),
      said.map(([kind]) => kind),
    );
    for (const [at, [, { message }]] of found.entries())
      assert.match(message, said[at]?.[1] ?? /^$/);
  });

test("reports once that a revision is rolled out, and names the nodes that lack it", () => {
  const excused = stuck(2, "not-started", "ImagePullBackOff");
  const over = progressWith({ ended: true, desired: 20, view: { excused } });
  assert.match(newsOf(over)?.message ?? "", /^revision 7 is on 18 of 20 nodes .*: n0, n1$/);
  assert.equal(newsOf({ ...over, ended: false }), undefined);
});
