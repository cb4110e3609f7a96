import assert from "node:assert/strict";
import { test } from "node:test";
import { fatesOf, pick, standing } from "./nodes.ts";
import type { AgentPod, SurveyedNode } from "./survey.ts";

const agent = (changes: Partial<AgentPod> = {}): AgentPod => ({
  current: true,
  available: false,
  started: true,
  proved: false,
  ageSeconds: 10,
  gaveUp: false,
  message: undefined,
  ...changes,
});
const node = (changes: Partial<SurveyedNode> = {}): SurveyedNode => ({
  name: "n",
  silent: false,
  agent: agent(),
  ...changes,
});
const old = { current: false };
const trial = 5;
const waited = "GPS212 config.json is written, the restart is owed";

const cases: readonly (readonly [sentence: string, node: SurveyedNode, fate: string])[] = [
  ["available under the template is served", node({ agent: agent({ available: true }) }), "served"],
  ["available under the one before waits", node({ agent: agent({ ...old, available: true }) }), "waiting"],
  [
    "not Ready, yet with an available agent, is served",
    node({ silent: true, agent: agent({ available: true }) }),
    "served",
  ],
  ["silent with an old agent is dead", node({ silent: true, agent: agent(old) }), "dead"],
  ["silent without an agent is dead", node({ silent: true, agent: undefined }), "dead"],
  ["silent under the new revision is a suspect, not dead", node({ silent: true, agent: agent() }), "moving"],
  ["and stays one", node({ silent: true, agent: agent({ ageSeconds: 600 }) }), "stuck"],
  ["silent long after its agent was well is dead", node({ silent: true, agent: agent({ proved: true }) }), "dead"],
  ["silent before the new agent could start is dead", node({ silent: true, agent: agent({ started: false }) }), "dead"],
  ["an agent that gave up has failed", node({ agent: agent({ gaveUp: true }) }), "failed"],
  ["also when its node fell silent", node({ silent: true, agent: agent({ gaveUp: true }) }), "failed"],
  ["what an old agent said counts no more", node({ agent: agent({ ...old, gaveUp: true }) }), "moving"],
  ["an agent that was killed at work has not failed", node({ agent: agent({ message: waited }) }), "moving"],
  ["another message is no failure of ours", node({ agent: agent({ message: "OOMKilled" }) }), "moving"],
  ["a young agent is on its way", node(), "moving"],
  ["an agent is given a minute besides the trial", node({ agent: agent({ ageSeconds: 64 }) }), "moving"],
  ["an agent unavailable for longer is stuck", node({ agent: agent({ ageSeconds: 65 }) }), "stuck"],
  ["no agent yet is on its way", node({ agent: undefined }), "moving"],
  ["an old agent that is not available is on its way", node({ agent: agent(old) }), "moving"],
];

for (const [sentence, one, fate] of cases) {
  test(`fate of a node: ${sentence}`, () => assert.equal(fatesOf([one], trial)[0]?.[1], fate));
}

test("a node that cannot start the agent is dead once another node could, and stuck before", () => {
  const cannot = node({ name: "cannot", agent: agent({ started: false, ageSeconds: 90, message: "ErrImagePull" }) });
  const could = node({ name: "could" });
  assert.deepEqual(
    fatesOf([cannot, could], trial).map(([, fate]) => fate),
    ["dead", "moving"],
  );
  assert.equal(fatesOf([cannot], trial)[0]?.[1], "stuck");
});

test("every node is counted once", () => {
  const counts = standing(
    fatesOf(
      cases.map(([, one]) => one),
      trial,
    ),
  );
  const { total, ...each } = counts;
  assert.equal(total, cases.length);
  assert.equal(
    Object.values(each).reduce((sum, count) => sum + count, 0),
    cases.length,
  );
});

test("the worst are named first", () => {
  const nodes = [
    node({ name: "a", agent: agent({ ageSeconds: 90 }) }),
    node({ name: "b", agent: agent({ gaveUp: true }) }),
  ];
  assert.deepEqual(
    pick(fatesOf(nodes, trial), "failed", "stuck").map(({ name }) => name),
    ["b", "a"],
  );
});
