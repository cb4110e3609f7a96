/** Which troubles and news follow from the outcome of a run. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { View, WaitReason } from "#controller/rollout/facts.ts";
import { nodeWithPod, progressWith, rollingOut, waitingFor } from "../rollout/progress.fixture.ts";
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

const context = { podless: undefined, writers: ["kube-system/team-a (argocd, helm)"] } as const;
const stuck = (count: number, reason: WaitReason, waitingReason?: string) =>
  Array.from({ length: count }, (_, at) =>
    waitingFor(`n${at}`, reason, waitingReason === undefined ? {} : { waitingReason }),
  );
const first = (waiting: View["waiting"]) =>
  progressWith({
    ...rollingOut("first", { waiting }),
    nodes: waiting.map(({ node }) => nodeWithPod(node, 0)),
  });

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
    first(stuck(3, "starting", "ImagePullBackOff")),
    [["unserved", /GPS327 .*n0: GPS336 the node's agent does not start: ImagePullBackOff/]],
  ],
  [
    "no agent can be scheduled, and some nodes are unreachable",
    first([...stuck(2, "starting", "Unschedulable"), waitingFor("far", "unreachable")]),
    [["unserved", /n1: GPS336 the node's agent does not start: Unschedulable/]],
  ],
  ["every node is unreachable", first(stuck(3, "unreachable")), []],
  ["no node has an agent pod yet", first(stuck(3, "podless")), []],
  [
    "the only node is silent",
    first(stuck(1, "silent")),
    [["unserved", /n0: GPS335 the node was asked and did not answer in time/]],
  ],
  [
    "3 of 20 nodes cannot start their agent before the first node is asked",
    first([...stuck(3, "starting", "ErrImagePull"), ...stuck(17, "window")]),
    [],
  ],
  [
    "few nodes refuse the revision that the other nodes have",
    progressWith({ view: { waiting: stuck(1, "refused") } }),
    [],
  ],
  [
    "many nodes refuse the revision that the other nodes have",
    progressWith({ view: { isReady: false, waiting: stuck(9, "refused") } }),
    [["unserved", /GPS327 .*no other node can be served: n0: GPS218 rolled back/]],
  ],
  [
    "a rollout is halted by failed nodes",
    progressWith(
      rollingOut("halted", {
        halt: { by: "failed", count: 2 },
        waiting: [waitingFor("a", "failed"), waitingFor("b", "silent")],
      }),
    ),
    [["halted", /^GPS305 revision 7 failed on 2 nodes \(a and 1 more\), so no other is asked; /]],
  ],
  [
    "a rollout is halted by silent nodes, of which one is gone",
    progressWith(
      rollingOut("halted", {
        halt: { by: "lost", count: 2 },
        waiting: [waitingFor("a", "failed"), waitingFor("b", "silent")],
      }),
    ),
    [["halted", /^GPS305 revision 7 is not answered by 2 nodes \(b and 1 more\), so no other /]],
  ],
  [
    "the admission policy is missing",
    first(stuck(3, "unguarded")),
    [["unguarded", /GPS338 .*the ValidatingAdmissionPolicy global-pull-secret-nodes .*does not/]],
  ],
  [
    "a source changes too often",
    progressWith({ view: { pending: "flapping" } }),
    [
      [
        "flapping",
        /GPS339 .*Secrets: change too often, written by kube-system\/team-a \(argocd, helm\);/,
      ],
    ],
  ],
  [
    "few nodes failed with a revision that other nodes get",
    progressWith({ view: { waiting: [waitingFor("a", "failed"), waitingFor("b", "window")] } }),
    [["failed", /GPS328 .*revision 7 failed on 1 node: a: GPS218 rolled back;/]],
  ],
  ["the nodes were not read", { ...first([]), view: undefined }, []],
];

for (const [when, progress, said] of table)
  test(`reports ${said.map(([kind]) => kind).join() || "no trouble"} when ${when}`, () => {
    const troubles = rolloutTroubles(progress, context);
    assert.deepEqual(
      troubles.map(([kind]) => kind),
      said.map(([kind]) => kind),
    );
    for (const [at, [, { message }]] of troubles.entries())
      assert.match(message, said[at]?.[1] ?? /^$/);
  });

test("reports that no node can be served when pods have not been created for a minute", () => {
  const progress = first(stuck(2, "podless"));
  const [trouble] = rolloutTroubles(progress, { ...context, podless: 2 });
  assert.equal(trouble?.[0], "unserved");
  assert.match(trouble?.[1].message ?? "", /n0: GPS337 the node has no agent pod/);
});

test("reports once that a revision is rolled out, and names the nodes that lack it", () => {
  const over = progressWith({
    ended: true,
    view: { desired: 20, current: 18, waiting: stuck(2, "refused") },
  });
  assert.match(rolloutNews(over)[0]?.message ?? "", /^revision 7 is on 18 of 20 nodes .*: n0, n1$/);
  assert.deepEqual(rolloutNews({ ...over, ended: false }), []);
  const [early] = rolloutNews({ ...over, now: over.publishedAt - 5 });
  assert.match(early?.message ?? "", / after 0 s;/, "the clock was set back");
});

const refused = accept(sources({ additional: bad }), policy);
const accepted = accept(sources({ additional: secret(text({ "a.io": "u:p" })) }), policy);
const unreadable = accept(sources({ original: "unknown", originalName: "a/b" }), policy);
const objects = { additional: bad, original: "absent", global: { metadata: { uid: "g" } } };
const snapshot = objects as unknown as Snapshot;
const now = new Date(1e12);
const withdraws = { since: now, begins: now, due: false, lost: [] };
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
    { verdict: { ...refused, withdraws }, snapshot },
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
    `policy: | ${nothingHeld} | removal: leftBehind, overdue, awaited, podsRefused`,
    "Removing",
    { podless: 1 },
  ],
  [
    "a removal that is not published yet",
    { stage: { kind: "removal", removal: { ...removing, releasing: false } }, snapshot },
    `policy: | ${nothingHeld} | removal: leftBehind, overdue, awaited`,
    "",
  ],
  [
    "the deletion of the Secret",
    { stage: { kind: "removal", removal: { ...removing, step: "delete global", leftBehind: [] } } },
    `policy: | ${nothingHeld} | removal: overdue, awaited`,
    "Removing, Removed",
  ],
  [
    "the end of a removal",
    { stage: { kind: "removal", removal: { ...removing, step: "delete state", leftBehind: [] } } },
    `policy: | ${nothingHeld} | removal: overdue, awaited`,
    "Removing, Removed",
  ],
  [
    "nothing",
    { stage: { kind: "nothing", leftBehind: [] } },
    `policy: | ${nothingHeld} | removal:`,
    "",
  ],
  [
    "nothing but nodes left behind",
    { stage: { kind: "nothing", leftBehind: ["x"] } },
    `policy: | ${nothingHeld} | removal: leftBehind`,
    "",
  ],
];

for (const [what, outcome, parts, news, changes] of outcomes)
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
      writers: [],
      differences: [],
      requests: undefined,
      ...changes,
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

test("reports the removal of each installation, also after global-pull-secret is deleted", () => {
  const subjectsOf = (objects: object) => {
    const outcome = { stage: { kind: "removal", removal: removing }, snapshot: objects };
    return newsOf(outcome as unknown as Outcome, {} as Context).map(({ subject }) => subject);
  };
  const of = (uid: string) => ({ metadata: { uid } });
  const installations = [{ global: of("g") }, { global: of("h") }, { state: of("s") }, {}];
  assert.equal(new Set(installations.flatMap(subjectsOf)).size, 4);
  assert.deepEqual(
    subjectsOf({ global: of("g"), state: of("s") }),
    subjectsOf({ global: of("g") }),
  );
});

test("reports another object of another client again", () => {
  const subjectOf = (uid: string) => {
    const role = { metadata: { uid } };
    const outcome = { policy: { problems: [] }, foreign: ["role"], snapshot: { role } };
    const { objects: found } = troublesOf(outcome as unknown as Outcome, {} as Context);
    return found?.[0]?.[1].subject;
  };
  assert.notEqual(subjectOf("a"), subjectOf("b"));
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
