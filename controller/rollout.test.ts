import assert from "node:assert/strict";
import { test } from "node:test";
import type { Standing } from "./nodes.ts";
import { decide, type DaemonSetView, type RolloutInput, type Turn } from "./rollout.ts";

const view = (changes: Partial<DaemonSetView> = {}): DaemonSetView => ({
  template: 4,
  drifted: false,
  stage: "wave",
  maxUnavailable: "10%",
  observed: true,
  desired: 20,
  updated: 20,
  available: 20,
  ...changes,
});

const input = (changes: Partial<RolloutInput> = {}): RolloutInput => ({
  published: 4,
  pending: false,
  lost: false,
  daemonSet: view(),
  quietSeconds: 0,
  haltKnown: false,
  trialSeconds: 5,
  standing: undefined,
  maxUnavailable: "10%",
  ...changes,
});

const standing = (changes: Partial<Standing>): Standing => ({
  total: 20,
  served: 0,
  dead: 0,
  failed: 0,
  stuck: 0,
  waiting: 0,
  moving: 0,
  ...changes,
});

/** A turn in one line: what is done, with which revision, stage and number of nodes. */
function brief(turn: Turn): string {
  if (turn.kind === "survey") return turn.kind;
  const { stage, maxUnavailable } = turn.strategy;
  const what = turn.kind === "roll" ? `roll ${turn.revision}` : turn.kind === "wait" ? `wait ${turn.phase}` : turn.kind;
  return `${what} ${stage} ${maxUnavailable}`;
}

const canary = { stage: "canary", maxUnavailable: 1 } as const;
const rolling = { updated: 6, available: 18 };
const cases: readonly (readonly [sentence: string, facts: RolloutInput, turn: string])[] = [
  ["the DaemonSet is born at revision 0", input({ daemonSet: undefined }), "roll 0 canary 1"],
  [
    "with the whole cluster as budget it is born at its revision",
    input({ daemonSet: undefined, maxUnavailable: "100%" }),
    "roll published wave 100%",
  ],
  [
    "nothing is decided on a status made for another spec",
    input({ pending: true, daemonSet: view({ observed: false }) }),
    "wait wave wave 10%",
  ],
  [
    "agents that are starting are waited for",
    input({ daemonSet: view({ template: 0, ...canary, available: 3 }) }),
    "wait birth canary 1",
  ],
  [
    "all agents ready: the first revision goes to one node",
    input({ daemonSet: view({ template: 0, ...canary }) }),
    "roll published canary 1",
  ],
  [
    "the canary is at work",
    input({ daemonSet: view({ ...canary, updated: 1, available: 19 }) }),
    "wait canary canary 1",
  ],
  [
    "the canary is available: the budget applies",
    input({ daemonSet: view({ ...canary, updated: 1 }) }),
    "wait wave wave 10%",
  ],
  [
    "more nodes updated than unavailable: one of them is available",
    input({ daemonSet: view({ ...canary, updated: 2, available: 19 }) }),
    "wait wave wave 10%",
  ],
  ["a wave goes on", input({ daemonSet: view(rolling) }), "wait wave wave 10%"],
  ["a later change waits for a healthy wave", input({ pending: true, daemonSet: view(rolling) }), "wait wave wave 10%"],
  [
    "a later change asks after a wave that has halted",
    input({ pending: true, haltKnown: true, quietSeconds: 2, daemonSet: view(rolling) }),
    "survey",
  ],
  [
    "… and leaves one that may be on trial alone",
    input({ pending: true, quietSeconds: 12, daemonSet: view(rolling) }),
    "wait wave wave 10%",
  ],
  [
    "a failed node makes the revision give way at once",
    input({
      pending: true,
      quietSeconds: 2,
      daemonSet: view(rolling),
      standing: standing({ served: 5, failed: 1, waiting: 14 }),
    }),
    "roll published canary 1",
  ],
  [
    "stuck nodes do not, while others still move",
    input({
      pending: true,
      quietSeconds: 2,
      daemonSet: view(rolling),
      standing: standing({ served: 5, stuck: 1, moving: 1, waiting: 13 }),
    }),
    "wait wave wave 10%",
  ],
  [
    "stuck nodes alone do",
    input({
      pending: true,
      quietSeconds: 2,
      daemonSet: view(rolling),
      standing: standing({ served: 5, stuck: 2, waiting: 13 }),
    }),
    "roll published canary 1",
  ],
  [
    "without a change a halted revision stays where it is",
    input({
      quietSeconds: 13,
      daemonSet: view({ ...canary, updated: 1, available: 19 }),
      standing: standing({ failed: 1, waiting: 19 }),
    }),
    "wait halted canary 1",
  ],
  [
    "a longer trial is silent for longer",
    input({ trialSeconds: 60, quietSeconds: 67, daemonSet: view(rolling) }),
    "wait wave wave 10%",
  ],
  ["a wave that stands still is looked into", input({ quietSeconds: 13, daemonSet: view(rolling) }), "survey"],
  [
    "dead nodes are added to the canary",
    input({
      quietSeconds: 13,
      daemonSet: view({ ...canary, updated: 0, available: 18 }),
      standing: standing({ dead: 2, waiting: 18 }),
    }),
    "wait canary canary 3",
  ],
  [
    "dead nodes are added to the budget",
    input({ quietSeconds: 13, daemonSet: view(rolling), standing: standing({ dead: 2, served: 6, waiting: 12 }) }),
    "wait wave wave 4",
  ],
  [
    "and taken back when they return",
    input({
      quietSeconds: 13,
      daemonSet: view({ maxUnavailable: 4, updated: 6, available: 19 }),
      standing: standing({ served: 6, moving: 1, waiting: 13 }),
    }),
    "wait wave wave 10%",
  ],
  [
    "with a dead node only a survey can prove the canary",
    input({ daemonSet: view({ ...canary, maxUnavailable: 2, updated: 1, available: 19 }) }),
    "survey",
  ],
  [
    "a survey proves the canary beside a dead node",
    input({
      daemonSet: view({ ...canary, maxUnavailable: 2, updated: 1, available: 19 }),
      standing: standing({ dead: 1, served: 1, waiting: 18 }),
    }),
    "wait wave wave 3",
  ],
  [
    "a dead node's new pod proves nothing",
    input({
      daemonSet: view({ ...canary, maxUnavailable: 2, updated: 1, available: 19 }),
      standing: standing({ dead: 1, waiting: 19 }),
    }),
    "wait canary canary 2",
  ],
  ["every node has it", input(), "served wave 10%"],
  [
    "what a survey finds available the DaemonSet controller must have seen, too: it would replace all others beside the budget",
    input({
      pending: true,
      quietSeconds: 13,
      daemonSet: view({ template: 0, stage: "canary", maxUnavailable: 1, available: 18 }),
      standing: standing({ dead: 1, served: 19 }),
    }),
    "wait birth canary 1",
  ],
  [
    "nor does a template follow whose pods it has not seen",
    input({
      pending: true,
      quietSeconds: 13,
      daemonSet: view({ updated: 18, available: 19, maxUnavailable: 2 }),
      standing: standing({ dead: 1, served: 19 }),
    }),
    "wait wave wave 3",
  ],
  [
    "every node but the dead has it",
    input({
      quietSeconds: 13,
      daemonSet: view({ updated: 19, available: 19 }),
      standing: standing({ dead: 1, served: 19 }),
    }),
    "served wave 10%",
  ],
  ["a change after that goes to one node first", input({ pending: true }), "roll published canary 1"],
  [
    "and past the dead",
    input({
      pending: true,
      quietSeconds: 13,
      daemonSet: view({ updated: 19, available: 19 }),
      standing: standing({ dead: 1, served: 19 }),
    }),
    "roll published canary 2",
  ],
  [
    "a revision that was published but not staged goes on",
    input({ published: 5, daemonSet: view(rolling) }),
    "roll published canary 1",
  ],
  [
    "an edited template is put right with its own revision",
    input({ published: 5, daemonSet: view({ drifted: true, ...rolling }) }),
    "roll 4 canary 1",
  ],
  [
    "a lost Secret is replaced at once",
    input({ lost: true, pending: true, daemonSet: view(rolling) }),
    "roll published canary 1",
  ],
  [
    "a Secret lost before the first revision changes no template",
    input({ lost: true, pending: true, daemonSet: view({ template: 0 }) }),
    "roll 0 canary 1",
  ],
  [
    "a cluster without nodes is served",
    input({ daemonSet: view({ desired: 0, updated: 0, available: 0 }) }),
    "served wave 10%",
  ],
];

for (const [sentence, facts, expected] of cases) {
  test(`rollout: ${sentence}`, () => assert.equal(brief(decide(facts)), expected));
}
