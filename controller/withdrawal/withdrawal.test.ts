import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { nextWithdrawalStep, pauseAfter, type WithdrawalInput } from "./withdrawal.ts";

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
  ["the nodes remove the entries first", input({ released: false }), "release"],
  [
    "the nodes remove the entries even when someone deleted the DaemonSet",
    input({ released: false, exists: without("daemonSet") }),
    "release",
  ],
  [
    "the nodes remove nothing if nothing reached a node",
    input({ rolled: false, released: false }),
    "delete daemonSet",
  ],
  ["then the DaemonSet is deleted", input(), "delete daemonSet"],
  [
    "the controller waits for a DaemonSet that is being deleted",
    input({ terminating: true }),
    "await daemonSet",
  ],
  [
    "then the DaemonSet's pods are counted",
    input({ exists: without("daemonSet") }),
    "count agents",
  ],
  [
    "the controller waits for the DaemonSet's pods",
    input({ exists: without("daemonSet"), agents: 2 }),
    "await agents",
  ],
  [
    "then the RoleBinding is deleted",
    input({ exists: without("daemonSet"), agents: 0 }),
    "delete roleBinding",
  ],
  [
    "then the Role is deleted",
    input({ exists: without("daemonSet", "roleBinding"), agents: 0 }),
    "delete role",
  ],
  [
    "then the ServiceAccount is deleted",
    input({ exists: without("daemonSet", "roleBinding", "role"), agents: 0 }),
    "delete serviceAccount",
  ],
  [
    "then the Secret is deleted",
    input({ exists: without("daemonSet", "roleBinding", "role", "serviceAccount"), agents: 0 }),
    "delete global",
  ],
  [
    "the state is deleted last",
    input({ exists: without("daemonSet", "roleBinding", "role", "serviceAccount", "global") }),
    "delete state",
  ],
  [
    "objects that are left without the Secret are deleted",
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

test("law: deletes everything in the end, and no object before the nodes have removed the entries", () => {
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
    fc.property(exists, flag, (initial, rolled) => {
      let released = false;
      const remaining = { ...initial };
      for (let round = 0; round < 12; round++) {
        const step = nextWithdrawalStep({
          rolled: rolled && remaining.global,
          released,
          exists: remaining,
          terminating: false,
          agents: 0,
        });
        if (step === "done") break;
        if (step === "release") released = true;
        else {
          assert.ok(
            released || !rolled || !initial.global,
            `${step} before the nodes have removed the entries`,
          );
          remaining[step.split(" ")[1] as "global"] = false;
        }
      }
      assert.deepEqual(Object.values(remaining), [false, false, false, false, false, false]);
    }),
  );
});

test("checks every second at first, and every 30 s after a long time without progress", () => {
  assert.deepEqual([0, 4, 40, 120, 1e6].map(pauseAfter), [1, 1, 10, 30, 30]);
});
