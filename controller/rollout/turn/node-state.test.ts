import assert from "node:assert/strict";
import { test } from "node:test";
import { fatesOf, nobody, pick, type Waits, countFates } from "./node-state.ts";
import type { AgentPod, SurveyedNode } from "./survey-result.ts";

const agent = (changes: Partial<AgentPod> = {}): AgentPod => ({
  current: true,
  available: false,
  running: true,
  started: true,
  proved: false,
  ageSeconds: 10,
  unavailableSeconds: 0,
  gaveUp: false,
  gaveBack: false,
  refused: false,
  message: undefined,
  ...changes,
});
const node = (changes: Partial<SurveyedNode> = {}): SurveyedNode => ({
  name: "n",
  silent: false,
  silentSeconds: 0,
  podlessSeconds: 0,
  controlPlane: false,
  agent: agent(),
  ...changes,
});
const old = { current: false };
const probation = 5;
const waited = "GPS212 config.json is written, the restart is owed";

const cases: readonly (readonly [sentence: string, node: SurveyedNode, fate: string])[] = [
  ["available under the template is served", node({ agent: agent({ available: true }) }), "served"],
  [
    "available under the one before waits",
    node({ agent: agent({ ...old, available: true }) }),
    "waiting",
  ],
  [
    "not Ready, yet with an available agent, is served",
    node({ silent: true, agent: agent({ available: true }) }),
    "served",
  ],
  [
    "silent with an old agent is unreachable",
    node({ silent: true, agent: agent(old) }),
    "unreachable",
  ],
  [
    "silent without an agent is unreachable",
    node({ silent: true, agent: undefined }),
    "unreachable",
  ],
  [
    "silent under the new revision is a suspect, not unreachable",
    node({ silent: true, agent: agent() }),
    "moving",
  ],
  ["and stays one", node({ silent: true, agent: agent({ ageSeconds: 600 }) }), "stuck"],
  [
    "silent long after its agent was well is unreachable",
    node({ silent: true, agent: agent({ proved: true }) }),
    "unreachable",
  ],
  [
    "silent before the new agent could start is unreachable",
    node({ silent: true, agent: agent({ started: false }) }),
    "unreachable",
  ],
  ["an agent that gave up has failed", node({ agent: agent({ gaveUp: true }) }), "failed"],
  [
    "also when its node fell silent",
    node({ silent: true, agent: agent({ gaveUp: true }) }),
    "failed",
  ],
  [
    "what an old agent said counts no more",
    node({ agent: agent({ ...old, gaveUp: true }) }),
    "moving",
  ],
  [
    "an agent that was killed at work has not failed",
    node({ agent: agent({ message: waited }) }),
    "moving",
  ],
  [
    "another message is no failure of ours",
    node({ agent: agent({ message: "OOMKilled" }) }),
    "moving",
  ],
  ["a young agent is on its way", node(), "moving"],
  [
    "an agent is given a minute besides the probation",
    node({ agent: agent({ ageSeconds: 64 }) }),
    "moving",
  ],
  ["an agent unavailable for longer is stuck", node({ agent: agent({ ageSeconds: 65 }) }), "stuck"],
  [
    "an agent that found the node unfit has refused",
    node({ agent: agent({ refused: true, ageSeconds: 600 }) }),
    "refused",
  ],
  [
    "alone it is stuck for ever",
    node({ agent: agent({ ageSeconds: 900, unavailableSeconds: 900 }) }),
    "stuck",
  ],
  ["no agent yet is on its way", node({ agent: undefined }), "moving"],
  ["an old agent that is not available is on its way", node({ agent: agent(old) }), "moving"],
];

for (const [sentence, one, fate] of cases) {
  test(`fate of a node: ${sentence}`, () => assert.equal(fatesOf([one], probation)[0]?.[1], fate));
}

test("where the Secret is ahead of the template its agents wait, and no node counts as odd or unreachable for that", () => {
  const known = { ...nobody, excused: new Set(["n"]), harmless: true, overtaken: true };
  const fate = (changes: Partial<AgentPod>) =>
    fatesOf([node({ agent: agent(changes) })], probation, known)[0]?.[1];
  const long = { ageSeconds: 900, unavailableSeconds: 900 };
  assert.deepEqual(
    [fate({}), fate(long), fate({ ...long, started: false }), fate({ ...long, gaveUp: true })],
    ["moving", "stuck", "stuck", "excused"],
  );
});

test("a node that cannot start the agent is unreachable once another node could, and stuck before", () => {
  const cannot = node({
    name: "cannot",
    agent: agent({ started: false, ageSeconds: 90, message: "ErrImagePull" }),
  });
  const could = node({ name: "could" });
  assert.deepEqual(
    fatesOf([cannot, could], probation).map(([, fate]) => fate),
    ["unreachable", "moving"],
  );
  assert.equal(fatesOf([cannot], probation)[0]?.[1], "stuck");
});

const served = node({ name: "served", agent: agent({ available: true }) });
const known = {
  excused: new Set(["old"]),
  failed: new Set(["again"]),
  harmless: false,
  overtaken: false,
};
const others: readonly (readonly [sentence: string, node: SurveyedNode, fate: string])[] = [
  [
    "unavailable for five minutes is excused",
    node({ agent: agent({ ageSeconds: 400, unavailableSeconds: 300 }) }),
    "excused",
  ],
  [
    "with a break it is stuck",
    node({ agent: agent({ ageSeconds: 400, unavailableSeconds: 299 }) }),
    "stuck",
  ],
  ["unavailable since before the template is excused at once", node({ name: "old" }), "excused"],
  ["also when it gives up now", node({ name: "old", agent: agent({ gaveUp: true }) }), "excused"],
  [
    "what failed already and fails again is excused",
    node({ name: "again", agent: agent({ gaveUp: true }) }),
    "excused",
  ],
  ["and has its probation before", node({ name: "again" }), "moving"],
];
for (const [sentence, one, fate] of others) {
  test(`fate of a node where another is served: ${sentence}`, () =>
    assert.equal(fatesOf([one, served], probation, known)[0]?.[1], fate));
}

test("every node is counted once; those that are away, or excused without their own word, are counted again as out", () => {
  const away = node({ silent: true, silentSeconds: 400, agent: undefined });
  const off = node({ silent: true, silentSeconds: 4000, agent: undefined });
  const fallen = node({ silent: true, silentSeconds: 40, agent: undefined });
  const all = [...cases, ...others].map(([, one]) => one);
  const fates = fatesOf(
    [...all, served, away, off, fallen, node({ agent: agent(old) })],
    probation,
    known,
  );
  const { total, out, fallen: lately, ...each } = countFates(fates, known);
  assert.equal(
    Object.values(each).reduce((sum, count) => sum + count, 0),
    total,
  );
  assert.deepEqual([out, lately], [each.excused + each.unreachable - 1, lately]);
  const few = countFates(
    fatesOf([served, away, off, fallen, node({ agent: agent(old) })], probation),
  );
  assert.deepEqual([few.out, few.fallen, few.unreachable], [2, 2, 3]);
});

test("the worst failures are named first", () => {
  const nodes = [
    node({ name: "a", agent: agent({ ageSeconds: 90 }) }),
    node({ name: "b", agent: agent({ gaveUp: true }) }),
  ];
  assert.deepEqual(
    pick(fatesOf(nodes, probation), "failed", "stuck").map(({ name }) => name),
    ["b", "a"],
  );
});

test("where no kubelet is restarted a running agent is given the time in which the kubelet reads by itself", () => {
  const served = node({ agent: agent({ available: true }) });
  const fate = (
    seconds: number,
    waits: Waits,
    changes: Partial<AgentPod> = {},
    controlPlane = false,
  ) => {
    const waiting = agent({ ageSeconds: seconds, unavailableSeconds: seconds, ...changes });
    return fatesOf(
      [node({ controlPlane, agent: waiting }), served],
      probation,
      nobody,
      waits,
    )[0]?.[1];
  };
  assert.equal(fate(664, "to be asked"), "moving");
  assert.equal(fate(665, "to be asked"), "stuck");
  assert.equal(fate(65, "to be asked", { running: false }), "stuck");
  assert.equal(fate(6, "to be asked", { gaveUp: true }), "failed");
  assert.equal(fate(369, "everywhere"), "moving");
  assert.equal(fate(370, "everywhere"), "stuck");
  assert.equal(fate(604, "everywhere"), "stuck");
  assert.equal(fate(605, "everywhere"), "excused");
  assert.equal(
    fate(65, "everywhere", { running: false }),
    "stuck",
    "one that does not run waits for nothing",
  );
  assert.equal(fate(65, "control plane"), "stuck");
  assert.equal(fate(369, "control plane", {}, true), "moving");
  assert.equal(fate(65, "nowhere", {}, true), "stuck");
});

test("a node that no pod is let in to holds nobody up after a minute, where others have the template", () => {
  const served = node({ agent: agent({ available: true }) });
  const fate = (podlessSeconds: number, ...others: SurveyedNode[]) =>
    fatesOf([node({ agent: undefined, podlessSeconds }), ...others], probation)[0]?.[1];
  assert.equal(fate(59, served), "moving");
  assert.equal(fate(60, served), "unreachable");
  assert.equal(fate(600), "moving", "where nobody has it, the cluster lets no pod in");
});
