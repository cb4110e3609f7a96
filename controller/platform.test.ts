import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { platformClock } from "./platform.ts";

function setUp() {
  const state = { groups: ["apps"], status: 200, asked: 0, seconds: 0 };
  const get = async (path: string) => {
    state.asked += 1;
    if (state.status !== 200)
      throw new ApiError({ status: state.status, reason: "", method: "GET", path });
    return { groups: state.groups.map((name) => ({ name })) };
  };
  const ask = platformClock({ get } as unknown as Cluster, () => state.seconds);
  return { state, ask };
}

test("takes five minutes to detect an operator that owns the nodes' pull secrets, and half a minute to detect its removal", async () => {
  const { state, ask } = setUp();
  assert.equal(await ask(), undefined);
  state.groups.push("machineconfiguration.openshift.io");
  state.seconds = 299;
  assert.equal(await ask(), undefined);
  assert.equal(state.asked, 1);
  state.seconds = 300;
  assert.equal(await ask(), "machineconfiguration.openshift.io");
  state.groups.pop();
  state.seconds = 329;
  assert.equal(await ask(), "machineconfiguration.openshift.io");
  state.seconds = 330;
  assert.equal(await ask(), undefined);
});

test("does not refuse a guest of HyperShift for its OpenShift APIs", async () => {
  const { state, ask } = setUp();
  state.groups.push("config.openshift.io");
  assert.equal(await ask(), undefined);
});

test("detects no operator when discovery is forbidden, and keeps this result after an error", async () => {
  for (const denial of [401, 403]) {
    const { state, ask } = setUp();
    state.status = 0;
    await assert.rejects(ask());
    state.status = denial;
    assert.equal(await ask(), undefined);
    state.status = 500;
    state.seconds = 1000;
    assert.equal(await ask(), undefined);
  }
});
