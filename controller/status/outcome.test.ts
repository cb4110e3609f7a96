/** Which troubles and news follow from the outcome of a run. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { idleView } from "#controller/rollout/survey.ts";
import { listed, progressWith, rollingOut } from "../rollout/progress.fixture.ts";
import { accept } from "../sources/accept.ts";
import { bad, policy, secret, sources, text } from "../sources/accept.fixture.ts";
import type { Snapshot } from "#controller/sources/snapshot.ts";
import type { Removal } from "../withdrawal/withdrawal.ts";
import {
  newsOf,
  rolloutNews,
  rolloutTroubles,
  troublesOf,
  type Context,
  type Outcome,
} from "./outcome.ts";

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
    progressWith({ view: { undeletable: [{ node: "a", why: "no deletions here" }] } }),
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
    const troubles = rolloutTroubles(progress);
    assert.deepEqual(
      troubles.map(([kind]) => kind),
      said.map(([kind]) => kind),
    );
    for (const [at, [, { message }]] of troubles.entries())
      assert.match(message, said[at]?.[1] ?? /^$/);
  });

test("reports once that a revision is rolled out, and names the nodes that lack it", () => {
  const excused = stuck(2, "not-started", "ImagePullBackOff");
  const over = progressWith({ ended: true, desired: 20, view: { excused } });
  assert.match(rolloutNews(over)[0]?.message ?? "", /^revision 7 is on 18 of 20 nodes .*: n0, n1$/);
  assert.deepEqual(rolloutNews({ ...over, ended: false }), []);
});

const refused = accept(sources({ additional: bad }), policy);
const accepted = accept(sources({ additional: secret(text({ "a.io": "u:p" })) }), policy);
const unreadable = accept(sources({ original: "unknown", originalName: "a/b" }), policy);
const objects = { additional: bad, original: "absent", global: { metadata: { uid: "g" } } };
const snapshot = objects as unknown as Snapshot;
const withdrawsAt = new Date(1e12);
const removing = {
  step: "release",
  revision: 4,
  releasing: true,
  progress: progressWith({ intent: "release" }),
  leftBehind: ["x"],
  overdue: { waiting: ["a"], seconds: 700 },
  awaited: { names: ["b"], until: "2026-01-02T00:00:00Z" },
  abandoned: 0,
} as unknown as Removal;
const nothingHeld = "cluster: | objects: | sources: | template: | rollout:";

/** Outcome → the troubles of each part, then the reasons of the news. */
const outcomes: readonly (readonly [
  what: string,
  outcome: Partial<Outcome>,
  parts: string,
  news: string,
  context?: Partial<Context>,
])[] = [
  ["a run that fails at once", { error: new Error("x") }, "policy:", ""],
  [
    "a run that fails again",
    { error: new Error("x") },
    "policy: | requests: refused",
    "",
    { requests: [["refused", {} as never]] },
  ],
  ["another operator", { platform: "x.io" }, "policy: | cluster: unsupported", ""],
  [
    "an object of another client",
    { foreign: ["role"], snapshot },
    "policy: | objects: foreign",
    "",
  ],
  ["a refused Secret", { verdict: refused, snapshot }, "policy: | sources: rejected", ""],
  [
    "a refused Secret that is deleted",
    { verdict: { ...refused, withdrawsAt }, snapshot },
    "policy: | sources:",
    "WithdrawalAwaited",
  ],
  ["an accepted Secret", { verdict: accepted, snapshot }, "policy: | sources:", "Accepted"],
  [
    "an original that cannot be read",
    { verdict: unreadable, snapshot: { ...snapshot, additional: undefined } },
    "policy: | sources: originalUnknown",
    "",
  ],
  [
    "a rollout",
    { stage: { kind: "rollout", progress: progressWith({ ended: true }) } },
    "policy: | removal: | template: mutated, podsRefused | rollout:",
    "RolledOut",
    { differences: [["a/b", ["x"]]], podless: 2 },
  ],
  [
    "a removal",
    { stage: { kind: "removal", removal: removing }, snapshot },
    `policy: | ${nothingHeld} | removal: overdue, awaited, podsRefused`,
    "NodesLeftBehind, Removing",
    { podless: 1 },
  ],
  [
    "the end of a removal",
    { stage: { kind: "removal", removal: { ...removing, step: "delete state", leftBehind: [] } } },
    `policy: | ${nothingHeld} | removal: overdue, awaited`,
    "Removing, Removed",
  ],
  ["nothing", { stage: { kind: "nothing" } }, `policy: | ${nothingHeld} | removal:`, ""],
];

for (const [what, outcome, parts, news, context] of outcomes)
  test(`from ${what} follow the troubles "${parts}" and the news "${news}"`, () => {
    const whole: Outcome = {
      policy: {
        policy: { managementState: "Managed" },
        problems: [],
        waits: false,
        object: undefined,
      },
      ...outcome,
    };
    const fullContext: Context = {
      subjects: { additional: "1", original: "2" },
      podless: undefined,
      differences: [],
      requests: undefined,
      ...context,
    };
    const areaLines = Object.entries(troublesOf(whole, fullContext)).map(([area, troubles]) =>
      `${area}: ${troubles.map(([kind]) => kind).join(", ")}`.trim(),
    );
    assert.equal(areaLines.join(" | "), parts);
    assert.equal(
      newsOf(whole, fullContext)
        .map(({ reason }) => reason)
        .join(", "),
      news,
    );
  });

test("reports a spec that exceeds a limit, about the object's generation", () => {
  const outcome = {
    policy: { problems: ["spec.rollout: no"], object: { metadata: { generation: 3 } } },
  } as unknown as Outcome;
  const { policy: policyTroubles } = troublesOf(outcome, {} as Context);
  assert.deepEqual(
    policyTroubles?.map(([kind, { subject }]) => [kind, subject]),
    [["notAllowed", "3"]],
  );
});
