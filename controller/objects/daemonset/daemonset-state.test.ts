import assert from "node:assert/strict";
import { test } from "node:test";
import { contains } from "#kube/apply/difference.ts";
import { agent } from "./agent.fixture.ts";
import { daemonSet } from "./daemonset.ts";
import { declaredAsIs, daemonSetState } from "./daemonset-state.ts";

const live = (maxUnavailable: number | string) =>
  daemonSet(agent, { revision: 3, digest: "d" }, { stage: "canary", maxUnavailable });

test("declared as it is, nothing of our own changes", () => {
  for (const budget of [1, 5, "10%", "100%"])
    assert.ok(contains(live(budget), declaredAsIs(live(budget), agent)));
});

test("the revision and stage of a DaemonSet from before version 0.2 are read", () => {
  const old = structuredClone(live(1));
  const former = (of: { annotations?: Record<string, string> } | undefined) =>
    Object.fromEntries(
      Object.entries(of?.annotations ?? {}).map(([name, value]) => [
        name.replace("globalpullsecret.io/", "global-pull-secret/"),
        value,
      ]),
    );
  Object.assign(old.metadata ?? {}, { annotations: former(old.metadata) });
  Object.assign(old.spec?.template.metadata ?? {}, {
    annotations: former(old.spec?.template.metadata),
  });
  const { template, stage } = daemonSetState(old, true);
  assert.deepEqual([template, stage], [3, "canary"]);
});

// Edited together with maxSurge. With maxSurge 0, which we declare, the API server refused every
// question about drift.
for (const zero of [0, "0%"]) {
  test(`a budget of ${zero} is never declared`, () => {
    const declared = declaredAsIs(live(zero), agent);
    assert.equal(declared.spec?.updateStrategy?.rollingUpdate?.maxUnavailable, 1);
    assert.ok(!contains(live(zero), declared));
    assert.equal(daemonSetState(live(zero), true).maxUnavailable, 1);
  });
}
