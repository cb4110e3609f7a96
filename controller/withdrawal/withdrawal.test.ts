import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { SurveyedNode } from "#controller/rollout/turn/survey-result.ts";
import { givenBack, nextWithdrawalStep, type WithdrawalInput } from "./withdrawal.ts";

const all = {
  daemonSet: true,
  roleBinding: true,
  role: true,
  serviceAccount: true,
  global: true,
  state: true,
};
const input = (changes: Partial<WithdrawalInput> = {}): WithdrawalInput => ({
  rolled: true,
  released: true,
  exists: all,
  terminating: false,
  agents: undefined,
  ...changes,
});
const without = (...names: (keyof typeof all)[]) => ({
  ...all,
  ...Object.fromEntries(names.map((name) => [name, false])),
});

const cases: readonly (readonly [sentence: string, input: WithdrawalInput, step: string])[] = [
  ["nodes give back first", input({ released: false }), "release"],
  [
    "even when somebody deleted the DaemonSet",
    input({ released: false, exists: without("daemonSet") }),
    "release",
  ],
  [
    "what never reached a node needs no giving back",
    input({ rolled: false, released: false }),
    "delete daemonSet",
  ],
  ["then the DaemonSet goes", input(), "delete daemonSet"],
  ["a DaemonSet that is going is waited for", input({ terminating: true }), "await daemonSet"],
  ["then its pods are counted", input({ exists: without("daemonSet") }), "count agents"],
  ["and waited for", input({ exists: without("daemonSet"), agents: 2 }), "await agents"],
  [
    "then the RoleBinding",
    input({ exists: without("daemonSet"), agents: 0 }),
    "delete roleBinding",
  ],
  ["the Role", input({ exists: without("daemonSet", "roleBinding"), agents: 0 }), "delete role"],
  [
    "the ServiceAccount",
    input({ exists: without("daemonSet", "roleBinding", "role"), agents: 0 }),
    "delete serviceAccount",
  ],
  [
    "then the Secret",
    input({ exists: without("daemonSet", "roleBinding", "role", "serviceAccount"), agents: 0 }),
    "delete global",
  ],
  [
    "the memory last of all",
    input({ exists: without("daemonSet", "roleBinding", "role", "serviceAccount", "global") }),
    "delete state",
  ],
  [
    "objects without a Secret are left from before it",
    input({ rolled: false, released: false, exists: without("daemonSet", "global") }),
    "delete roleBinding",
  ],
  [
    "nothing is left",
    input({
      rolled: false,
      released: false,
      exists: without("daemonSet", "roleBinding", "role", "serviceAccount", "global", "state"),
    }),
    "done",
  ],
];

for (const [sentence, facts, step] of cases) {
  test(`removal: ${sentence}`, () => assert.equal(nextWithdrawalStep(facts), step));
}

test("law: whatever exists, doing the steps ends with nothing, and no object goes before the nodes have given back", () => {
  const flag = fc.boolean();
  const exists = fc.record({
    daemonSet: flag,
    roleBinding: flag,
    role: flag,
    serviceAccount: flag,
    global: flag,
    state: flag,
  });
  fc.assert(
    fc.property(exists, flag, (found, rolled) => {
      let released = false;
      const left = { ...found };
      for (let turn = 0; turn < 12; turn++) {
        const step = nextWithdrawalStep({
          rolled: rolled && left.global,
          released,
          exists: left,
          terminating: false,
          agents: 0,
        });
        if (step === "done") break;
        if (step === "release") released = true;
        else {
          assert.ok(
            released || !rolled || !found.global,
            `${step} before the nodes have given back`,
          );
          left[step.split(" ")[1] as "global"] = false;
        }
      }
      assert.deepEqual(Object.values(left), [false, false, false, false, false, false]);
    }),
  );
});

const agent = {
  current: true,
  available: true,
  running: true,
  started: true,
  proved: true,
  ageSeconds: 90,
  unavailableSeconds: 0,
  gaveUp: false,
  gaveBack: true,
  refused: false,
  message: undefined,
};
const absent = { available: false, running: false, started: false, proved: false, gaveBack: false };
const nodes: readonly (readonly [
  what: string,
  node: Partial<SurveyedNode>,
  given: "back" | "lacking" | "away",
])[] = [
  ["it said so", {}, "back"],
  ["it is available and has not said so", { agent: { ...agent, gaveBack: false } }, "lacking"],
  ["it has no agent yet", { agent: undefined }, "lacking"],
  ["its agent may still start", { agent: { ...agent, ...absent, ageSeconds: 59 } }, "lacking"],
  ["its agent does not start", { agent: { ...agent, ...absent, ageSeconds: 60 } }, "away"],
  ["it fell silent after it said so", { silent: true }, "back"],
  ["it is silent", { silent: true, agent: { ...agent, gaveBack: false } }, "away"],
];

for (const [what, node, given] of nodes)
  test(`of a node that is to give back, ${what}: ${given}`, () => {
    const standing = { name: "n", silent: false, silentSeconds: 0, podlessSeconds: 0, agent };
    const { lacking, away } = givenBack([{ ...standing, controlPlane: false, ...node }]);
    const found = lacking.length > 0 ? "lacking" : away.length > 0 ? "away" : "back";
    assert.equal(found, given);
  });
