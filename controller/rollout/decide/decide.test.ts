import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "./decide.ts";
import { input, counts, daemonSetState } from "./input.fixture.ts";
import type { RolloutInput, Turn } from "#controller/rollout/turn/turn.ts";

/** A turn in one line: what is done, with which revision, stage and number of nodes. */
function brief(turn: Turn): string {
  if (turn.kind === "survey") return turn.kind;
  const { stage, maxUnavailable } = turn.strategy;
  const halt = "halt" in turn && turn.halt !== undefined ? ` halt ${turn.halt}` : "";
  const what =
    turn.kind === "roll"
      ? `roll ${turn.revision}${halt}`
      : turn.kind === "wait"
        ? `wait ${turn.phase}${halt}`
        : turn.kind;
  return `${what} ${stage} ${maxUnavailable}`;
}

const canary = { stage: "canary", maxUnavailable: 1 } as const;
const rolling = { updated: 6, available: 18 };
const born = daemonSetState({ template: 0, ...canary, available: 0 });
const cases: readonly (readonly [sentence: string, facts: RolloutInput, turn: string])[] = [
  ["the DaemonSet is born at revision 0", input({ daemonSet: undefined }), "roll 0 canary 1"],
  [
    "with the whole cluster as budget it is born at its revision",
    input({ daemonSet: undefined, maxUnavailable: "100%" }),
    "roll published wave 100%",
  ],
  [
    "where no kubelet is restarted what follows the canary needs no budget",
    input({ restarts: false, daemonSet: daemonSetState({ ...canary, updated: 1 }) }),
    "wait wave wave 100%",
  ],
  [
    "nothing is decided on the status of another spec",
    input({ pending: true, daemonSet: daemonSetState({ observed: false }) }),
    "wait wave wave 10%",
  ],
  [
    "agents that are starting are waited for",
    input({ daemonSet: daemonSetState({ template: 0, ...canary, ready: 3, available: 0 }) }),
    "wait birth canary 1",
  ],
  [
    "all agents Ready: they must stay so",
    input({ readySeconds: 2, daemonSet: born }),
    "wait birth canary 1",
  ],
  [
    "all agents Ready for as long as counts: looked at one by one",
    input({ stallSeconds: 3, daemonSet: born }),
    "survey",
  ],
  [
    "… and the first revision goes to one node",
    input({ stallSeconds: 3, daemonSet: born, counts: counts({ served: 20 }) }),
    "roll published canary 1",
  ],
  [
    "an agent whose Ready lies in our future would be replaced beside the budget: it is waited for",
    input({ stallSeconds: 3, daemonSet: born, counts: counts({ served: 19, moving: 1 }) }),
    "wait birth canary 1",
  ],
  [
    "an unfit node is passed at birth",
    input({ daemonSet: { ...born, ready: 19 }, counts: counts({ served: 19, refused: 1 }) }),
    "roll published canary 2",
  ],
  [
    "the canary is at work",
    input({ daemonSet: daemonSetState({ ...canary, updated: 1, available: 19 }) }),
    "wait canary canary 1",
  ],
  [
    "the canary is available: the budget applies",
    input({ daemonSet: daemonSetState({ ...canary, updated: 1 }) }),
    "wait wave wave 10%",
  ],
  [
    "more nodes updated than unavailable: one of them is available",
    input({ daemonSet: daemonSetState({ ...canary, updated: 2, available: 19 }) }),
    "wait wave wave 10%",
  ],
  ["a wave goes on", input({ daemonSet: daemonSetState(rolling) }), "wait wave wave 10%"],
  [
    "a later change waits for a healthy wave",
    input({ pending: true, daemonSet: daemonSetState(rolling) }),
    "wait wave wave 10%",
  ],
  [
    "a later change asks after a wave that has halted",
    input({ pending: true, haltKnown: true, stallSeconds: 2, daemonSet: daemonSetState(rolling) }),
    "survey",
  ],
  [
    "… and leaves one that may be on probation alone",
    input({ pending: true, stallSeconds: 12, daemonSet: daemonSetState(rolling) }),
    "wait wave wave 10%",
  ],
  [
    "a failed node makes the revision give way at once",
    input({
      pending: true,
      stallSeconds: 2,
      daemonSet: daemonSetState(rolling),
      counts: counts({ served: 5, failed: 1, waiting: 14 }),
    }),
    "roll published canary 2",
  ],
  [
    "stuck nodes do not, while others still move",
    input({
      pending: true,
      stallSeconds: 2,
      daemonSet: daemonSetState(rolling),
      counts: counts({ served: 5, stuck: 1, moving: 1, waiting: 13 }),
    }),
    "wait wave wave 10%",
  ],
  [
    "stuck nodes alone do",
    input({
      pending: true,
      stallSeconds: 2,
      daemonSet: daemonSetState(rolling),
      counts: counts({ served: 5, stuck: 2, waiting: 13 }),
    }),
    "roll published canary 3",
  ],
  [
    "without a change every node is told to keep what it has",
    input({
      stallSeconds: 13,
      daemonSet: daemonSetState({ ...canary, updated: 1, available: 19 }),
      counts: counts({ failed: 1, waiting: 19 }),
    }),
    "roll published halt failed wave 100%",
  ],
  [
    "a withdrawal that fails is never held to an older document: it stands",
    input({
      intent: "release",
      wanted: "release",
      daemonSet: daemonSetState({ ...canary, updated: 1, available: 19 }),
      stallSeconds: 13,
      counts: counts({ failed: 1, waiting: 19 }),
    }),
    "wait halted halt failed canary 1",
  ],
  [
    "a node that fails when every node had the revision is no failure of its rollout",
    input({
      complete: true,
      stallSeconds: 13,
      daemonSet: daemonSetState({ available: 19 }),
      counts: counts({ failed: 1, served: 19 }),
    }),
    "served wave 10%",
  ],
  [
    "the order to keep goes out at once, whatever the status is of",
    input({
      wanted: "hold",
      pending: true,
      daemonSet: daemonSetState({ ...rolling, observed: false }),
    }),
    "roll published wave 100%",
  ],
  [
    "under a hold nothing goes on",
    input({ intent: "hold", wanted: "hold" }),
    "wait held wave 100%",
  ],
  [
    "after a hold one node is first again",
    input({ intent: "hold", pending: true }),
    "roll published canary 1",
  ],
  [
    "an outage in mid-wave holds",
    input({
      daemonSet: daemonSetState({ updated: 6, available: 3 }),
      counts: counts({ unreachable: 15, out: 15, fallen: 11, served: 3, waiting: 2 }),
    }),
    "roll published halt outage wave 100%",
  ],
  [
    "a possible outage is looked into at once",
    input({ daemonSet: daemonSetState({ updated: 6, available: 3 }) }),
    "survey",
  ],
  [
    "failures within maxFailures are passed over",
    input({
      maxFailures: 2,
      stallSeconds: 13,
      daemonSet: daemonSetState({ updated: 6, available: 18 }),
      counts: counts({ failed: 2, served: 4, waiting: 14 }),
    }),
    "wait wave wave 4",
  ],
  [
    "never more slots than agents are missing",
    input({
      daemonSet: daemonSetState({ maxUnavailable: 8, updated: 6, available: 19 }),
      surveySeconds: 30,
      counts: counts({ unreachable: 6, served: 14 }),
    }),
    "wait wave wave 3",
  ],
  [
    "raised, a wave is looked into every half minute",
    input({ surveySeconds: 30, daemonSet: daemonSetState({ ...rolling, maxUnavailable: 4 }) }),
    "survey",
  ],
  [
    "the next change waits for the least interval",
    input({ pending: true, intervalLeft: 9 }),
    "wait interval wave 10%",
  ],
  [
    "a withdrawal does not",
    input({ pending: true, wanted: "release", intervalLeft: 9 }),
    "roll published canary 1",
  ],
  [
    "nothing builds on a false Ready, though the node's clock makes it count",
    input({ readySeconds: 0, daemonSet: daemonSetState({ ...canary, updated: 1 }) }),
    "wait canary canary 1",
  ],
  [
    "a longer probation is silent for longer",
    input({ probationSeconds: 60, stallSeconds: 67, daemonSet: daemonSetState(rolling) }),
    "wait wave wave 10%",
  ],
  [
    "a wave that stands still is looked into",
    input({ stallSeconds: 13, daemonSet: daemonSetState(rolling) }),
    "survey",
  ],
  [
    "unreachable nodes are added to the canary",
    input({
      stallSeconds: 13,
      daemonSet: daemonSetState({ ...canary, updated: 0, available: 18 }),
      counts: counts({ unreachable: 2, waiting: 18 }),
    }),
    "wait canary canary 3",
  ],
  [
    "unreachable nodes are added to the budget",
    input({
      stallSeconds: 13,
      daemonSet: daemonSetState(rolling),
      counts: counts({ unreachable: 2, served: 6, waiting: 12 }),
    }),
    "wait wave wave 4",
  ],
  [
    "their slots are taken back when they return",
    input({
      stallSeconds: 13,
      daemonSet: daemonSetState({ maxUnavailable: 4, updated: 6, available: 19 }),
      counts: counts({ served: 6, moving: 1, waiting: 13 }),
    }),
    "wait wave wave 10%",
  ],
  [
    "with an unreachable node only a survey can prove the canary",
    input({
      daemonSet: daemonSetState({ ...canary, maxUnavailable: 2, updated: 1, available: 19 }),
    }),
    "survey",
  ],
  [
    "a survey proves the canary beside an unreachable node",
    input({
      daemonSet: daemonSetState({ ...canary, maxUnavailable: 2, updated: 1, available: 19 }),
      counts: counts({ unreachable: 1, served: 1, waiting: 18 }),
    }),
    "wait wave wave 3",
  ],
  [
    "an unreachable node's new pod proves nothing",
    input({
      daemonSet: daemonSetState({ ...canary, maxUnavailable: 2, updated: 1, available: 19 }),
      counts: counts({ unreachable: 1, waiting: 19 }),
    }),
    "wait canary canary 2",
  ],
  [
    "… also when the next node was taken before the canary's Ready had stood: nobody looked since",
    input({
      surveySeconds: 2,
      daemonSet: daemonSetState({ ...canary, maxUnavailable: 2, updated: 2, available: 18 }),
    }),
    "survey",
  ],
  [
    "… but not again once somebody looked",
    input({
      readySeconds: 6,
      surveySeconds: 2,
      daemonSet: daemonSetState({ ...canary, maxUnavailable: 2, updated: 2, available: 18 }),
    }),
    "wait canary canary 2",
  ],
  [
    "a wave of which only odd nodes may be missing is looked into at once",
    input({ daemonSet: daemonSetState({ maxUnavailable: 4, updated: 18, available: 18 }) }),
    "survey",
  ],
  [
    "… not while one that is missing has no slot of its own",
    input({ daemonSet: daemonSetState({ maxUnavailable: 4, updated: 20, available: 17 }) }),
    "wait wave wave 4",
  ],
  [
    "… nor while one may lack the template",
    input({ daemonSet: daemonSetState({ maxUnavailable: 4, updated: 17, available: 18 }) }),
    "wait wave wave 4",
  ],
  [
    "a change that finds agents missing where every node had the previous revision asks at once",
    input({ pending: true, complete: true, daemonSet: daemonSetState({ available: 19 }) }),
    "survey",
  ],
  [
    "… but not while the least interval lasts",
    input({
      pending: true,
      complete: true,
      intervalLeft: 9,
      daemonSet: daemonSetState({ available: 19 }),
    }),
    "wait wave wave 10%",
  ],
  [
    "… which a withdrawal does not wait for",
    input({
      pending: true,
      complete: true,
      wanted: "release",
      intervalLeft: 9,
      daemonSet: daemonSetState({ available: 19 }),
    }),
    "survey",
  ],
  [
    "without a change a survey can wait",
    input({ complete: true, daemonSet: daemonSetState({ available: 19 }) }),
    "served wave 10%",
  ],
  ["every node has it", input(), "served wave 10%"],
  [
    "what a survey finds available the DaemonSet controller must have seen, too: it would replace all others beside the budget",
    input({
      pending: true,
      stallSeconds: 13,
      daemonSet: daemonSetState({ ...born, ready: 18 }),
      counts: counts({ unreachable: 1, served: 19 }),
    }),
    "wait birth canary 1",
  ],
  [
    "no template follows before the DaemonSet controller has seen the pods of this one",
    input({
      pending: true,
      stallSeconds: 13,
      daemonSet: daemonSetState({ updated: 18, available: 19, maxUnavailable: 2 }),
      counts: counts({ unreachable: 1, served: 19 }),
    }),
    "wait wave wave 3",
  ],
  [
    "every node but the unreachable has it",
    input({
      stallSeconds: 13,
      daemonSet: daemonSetState({ updated: 19, available: 19 }),
      counts: counts({ unreachable: 1, served: 19 }),
    }),
    "served wave 10%",
  ],
  [
    "a change after that goes to one node first",
    input({ pending: true }),
    "roll published canary 1",
  ],
  [
    "and past the unreachable nodes",
    input({
      pending: true,
      stallSeconds: 13,
      daemonSet: daemonSetState({ updated: 19, available: 19 }),
      counts: counts({ unreachable: 1, served: 19 }),
    }),
    "roll published canary 2",
  ],
  [
    "a revision that was published but not staged goes on",
    input({ published: 5, daemonSet: daemonSetState(rolling) }),
    "roll published canary 1",
  ],
  [
    "an edited template is put right with its own revision",
    input({ published: 5, daemonSet: daemonSetState({ drifted: true, ...rolling }) }),
    "roll 4 canary 1",
  ],
  [
    "… but not while its controller would take every agent for unavailable",
    input({
      published: 5,
      daemonSet: daemonSetState({ drifted: true, updated: 20, available: 3 }),
    }),
    "survey",
  ],
  [
    "a lost Secret is replaced at once",
    input({ lost: true, pending: true, daemonSet: daemonSetState(rolling) }),
    "roll published canary 1",
  ],
  [
    "a Secret lost before the first revision changes no template",
    input({ lost: true, pending: true, daemonSet: daemonSetState({ template: 0 }) }),
    "roll 0 canary 1",
  ],
  [
    "a cluster without nodes is served",
    input({ daemonSet: daemonSetState({ desired: 0, updated: 0, available: 0 }) }),
    "served wave 10%",
  ],
];

for (const [sentence, facts, expected] of cases) {
  test(`rollout: ${sentence}`, () => assert.equal(brief(decide(facts)), expected));
}

test("a canary whose Ready has not stood yet is looked at as soon as it has, whatever the counters say meanwhile", () => {
  const turn = (readySeconds: number) =>
    decide(
      input({
        readySeconds,
        stallSeconds: 0.5,
        daemonSet: daemonSetState({ ...canary, updated: 2, available: 19 }),
      }),
    );
  const waits = [2.5, 3]
    .map(turn)
    .map((one) => (one.kind === "wait" ? [one.strategy.stage, one.again] : one.kind));
  assert.deepEqual(waits, [
    ["canary", 0.5],
    ["wave", 13],
  ]);
});

test("beside odd nodes a canary that was looked at before its Ready had stood is looked at again, 2 s later", () => {
  const odd = daemonSetState({ ...canary, maxUnavailable: 2, updated: 2, available: 18 });
  const again = (surveySeconds: number, readySeconds: number) => {
    const turn = decide(input({ surveySeconds, readySeconds, daemonSet: odd }));
    return turn.kind === "wait" ? turn.again : turn.kind;
  };
  assert.deepEqual(
    [again(0.5, 2.5), again(1, 3), again(2, 4), again(2, 7)],
    [1.5, 1, "survey", 13],
  );
});

test("a Ready that has not lasted is waited for, and no longer", () => {
  const turn = decide(input({ readySeconds: 2.5, stallSeconds: 0.1 }));
  assert.deepEqual(turn.kind === "wait" && [turn.reason, turn.again], [
    "the latest Ready must last to count",
    0.5,
  ]);
});
