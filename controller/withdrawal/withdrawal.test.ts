import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  nextWithdrawalStep,
  pauseAfter,
  type DeletedName,
  type WithdrawalInput,
} from "./withdrawal.ts";

const names: readonly DeletedName[] = [
  "daemonSet",
  "roleBinding",
  "role",
  "serviceAccount",
  "nodePullSecrets",
  "global",
  "state",
];
const input = (changes: Partial<WithdrawalInput> = {}): WithdrawalInput => ({
  needsRelease: false,
  exists: new Set(names),
  terminating: false,
  agents: 0,
  ...changes,
});
const only = (...existing: DeletedName[]) => new Set(existing);
const without = (...gone: DeletedName[]) => only(...names.filter((name) => !gone.includes(name)));

const cases: readonly (readonly [sentence: string, input: WithdrawalInput, step: string])[] = [
  ["the nodes remove the entries first", input({ needsRelease: true }), "release"],
  [
    "the nodes remove the entries even when someone deleted the DaemonSet",
    input({ needsRelease: true, exists: without("daemonSet") }),
    "release",
  ],
  ["then the DaemonSet is deleted", input(), "delete daemonSet"],
  [
    "the controller waits for a DaemonSet that is being deleted",
    input({ terminating: true }),
    "await daemonSet",
  ],
  [
    "the controller waits for the DaemonSet's pods",
    input({ exists: without("daemonSet"), agents: 2 }),
    "await agents",
  ],
  [
    "then the RoleBinding is deleted",
    input({ exists: without("daemonSet") }),
    "delete roleBinding",
  ],
  [
    "then the Role is deleted",
    input({ exists: without("daemonSet", "roleBinding") }),
    "delete role",
  ],
  [
    "then the ServiceAccount is deleted",
    input({ exists: without("daemonSet", "roleBinding", "role") }),
    "delete serviceAccount",
  ],
  [
    "then the NodePullSecrets are deleted",
    input({ exists: without("daemonSet", "roleBinding", "role", "serviceAccount") }),
    "delete nodePullSecrets",
  ],
  ["then the Secret is deleted", input({ exists: only("global", "state") }), "delete global"],
  ["the state is deleted last", input({ exists: only("state") }), "delete state"],
  [
    "objects that are left without the Secret are deleted",
    input({ exists: without("daemonSet", "global"), agents: 2 }),
    "delete roleBinding",
  ],
  ["nothing is left", input({ exists: only() }), "done"],
];

for (const [sentence, facts, step] of cases) {
  test(`removal: ${sentence}`, () => assert.equal(nextWithdrawalStep(facts), step));
}

test("law: deletes everything in the end, and no object before the nodes have removed the entries", () => {
  const flag = fc.boolean();
  fc.assert(
    fc.property(fc.subarray([...names]), flag, (initial, isDeployed) => {
      let needsRelease = isDeployed;
      const remaining = new Set(initial);
      for (let round = 0; round < 12; round++) {
        const step = nextWithdrawalStep(input({ needsRelease, exists: remaining }));
        if (step === "done") break;
        if (step === "release") needsRelease = false;
        else {
          assert.ok(!needsRelease, `${step} before the nodes have removed the entries`);
          remaining.delete(step.split(" ")[1] as DeletedName);
        }
      }
      assert.equal(remaining.size, 0);
    }),
  );
});

test("checks every second at first, and every 30 s after a long time without progress", () => {
  assert.deepEqual([0, 4, 40, 120, 1e6].map(pauseAfter), [1, 1, 10, 30, 30]);
});
