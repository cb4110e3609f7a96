/** kstatus (Flux, kpt, kubectl-apply tools) and Argo CD, asked about every state of the object. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ask } from "./ask.ts";
import { expectedHealth, recorded } from "./states.ts";

const kstatus: Readonly<Record<string, string>> = {
  new: "InProgress",
  starting: "InProgress",
  canary: "InProgress",
  wave: "InProgress",
  ready: "Current",
  "left-out": "Current",
  "extra-refused": "Current",
  "source-rejected": "Failed",
  halted: "Failed",
  "not-allowed": "Failed",
  paused: "Current",
  "paused-waiting": "Failed",
  "spec-changed": "InProgress",
  withdrawing: "InProgress",
  withdrawn: "Current",
  "no-source": "Current",
  "no-nodes": "Current",
  deleted: "Terminating",
};

const states = recorded();
const names = [...states.keys()];

test("kstatus' own code judges every state of a rollout as it is meant", async () => {
  const found = await ask([...states.values()]);
  const said = names.map((name, at) => [name, found[at]?.kstatus] as const);
  assert.deepEqual(Object.fromEntries(said), kstatus);
});

test("Argo CD's health of every state is the one of health_test.yaml, words included", async () => {
  const found = await ask([...states.values()]);
  const said = names.map((name, at) => {
    const { health, message } = found[at] ?? { health: "", message: "" };
    return [name, { status: health, message }] as const;
  });
  assert.deepEqual(Object.fromEntries(said), Object.fromEntries(expectedHealth()));
});

test("neither judges by the order of the conditions", async () => {
  const reversed = [...states.values()].map((object) => {
    const conditions = (object.status?.conditions ?? []).toReversed();
    return Object.assign({}, object, { status: { ...object.status, conditions } });
  });
  assert.deepEqual(await ask(reversed), await ask([...states.values()]));
});

test("an object that nobody has looked at is never taken for a good one", async () => {
  const bare = { apiVersion: "globalpullsecret.io/v1alpha1", kind: "GlobalPullSecret" };
  const metadata = { name: "cluster", generation: 1 };
  const objects = [
    { ...bare, metadata, status: { observedGeneration: -1 } },
    { ...bare, metadata, status: { observedGeneration: 0, conditions: [] } },
  ];
  for (const { kstatus, health } of await ask(objects)) {
    assert.equal(kstatus, "InProgress");
    assert.equal(health, "Progressing");
  }
});
