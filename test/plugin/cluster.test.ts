/**
 * The plugin on a real API server, for users with different rights. No controller runs; the tests
 * write the status that a controller would write.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import type { GlobalPullSecret, GlobalPullSecretStatus } from "#api/global-pull-secret.ts";
import { globalPullSecretPath } from "#kube/client/paths.ts";
import { inForce, object, source } from "#plugin/object.fixture.ts";
import { textOf } from "#tools/install/yaml.ts";
import * as plane from "../controller/plane.ts";
import { steer } from "../controller/steer.ts";
import { loginTests } from "./login.ts";
import { replaceTests } from "./replace.ts";
import { password, pluginOn } from "./rig.ts";
import { shownTests } from "./shown.ts";
import { uninstallTests } from "./uninstall.ts";

let on: plane.Plane;

before(async () => {
  on = await plane.startPlane();
});
after(async () => {
  await on[Symbol.asyncDispose]();
});

const plugin = pluginOn(() => on);
const rig = { on: () => on, plugin };

async function tell(status: GlobalPullSecretStatus): Promise<void> {
  const { apiVersion, kind, metadata } = object({});
  const body = { apiVersion, kind, metadata: { name: metadata.name }, status };
  const how = { manager: "global-pull-secret-status", force: true };
  await on.api.apply(`${globalPullSecretPath}/status`, body, how);
}

const live = async () => await on.api.get<GlobalPullSecret>(globalPullSecretPath);
const generation = async () => (await live())?.metadata.generation ?? 0;
const secret = async () => await on.api.get<V1Secret>(plane.paths.additional);

test("add creates the Secret, wait waits for exactly this version, remove deletes the Secret", async () => {
  const added = await plugin("add quay.io -u robot --password-stdin", `${password}\n`);
  assert.deepEqual([added.code, added.err], [0, ""], JSON.stringify(added));
  const first = (await secret())?.metadata?.resourceVersion ?? "";
  assert.equal((await secret())?.type, "kubernetes.io/dockerconfigjson");

  const observedGeneration = await generation();
  await tell({ observedGeneration, sources: [source(first)], conditions: inForce });
  assert.equal((await plugin("wait --timeout 20s")).code, 0);

  const again = await plugin("add ghcr.io -u robot --password-stdin", password);
  assert.equal(again.code, 0, again.err);
  // The object still reports Ready for the previous version of the Secret.
  const waited = await plugin("wait --timeout 10s");
  assert.equal(waited.code, 3, JSON.stringify(waited));
  assert.match(waited.err, /is not read by the controller yet/);
  const second = (await secret())?.metadata?.resourceVersion ?? "";
  const waiting = plugin("wait --timeout 60s");
  await tell({ observedGeneration, sources: [source(second)], conditions: inForce });
  assert.equal((await waiting).code, 0);

  // The command from the chart's notes, for users without the plugin, also waits for this version.
  const [, field = ""] = /--for=jsonpath='([^']+)'/.exec(textOf("chart/templates/NOTES.txt")) ?? [];
  const waitFor = (version: string) => {
    const object = ["globalpullsecret/cluster", "--timeout=2s"];
    return on.cluster.kubectl("wait", ...object, `--for=jsonpath=${field}=${version}`);
  };
  await waitFor(second);
  await assert.rejects(waitFor(first), /timed out/);

  for (const registry of ["quay.io", "ghcr.io"]) {
    const removed = await plugin(`remove ${registry} --yes`);
    assert.equal(removed.code, 0, removed.err);
  }
  assert.equal(await secret(), undefined);
  for (const { out, err } of [added, again, waited])
    assert.ok(!`${out}${err}`.includes(password), "the password is printed");
});

test("pause, withdraw, resume and retry each write only their own field, and keep Git's fields", async () => {
  const state = async () => (await live())?.spec?.managementState;
  for (const [line, expectedState] of [
    ["pause", "Paused"],
    ["withdraw --yes", "Withdrawn"],
    ["retry", "Withdrawn"],
    ["resume", "Managed"],
  ] as const) {
    const { code, err } = await plugin(line);
    assert.equal(code, 0, err);
    assert.equal(await state(), expectedState, line);
  }
  const annotations = (await live())?.metadata.annotations ?? {};
  assert.deepEqual(Object.keys(annotations), ["globalpullsecret.io/retry"]);
  // Fields of other managers are unchanged.
  assert.equal((await live())?.spec?.rollout?.probation, "3s");

  await steer(on, { managementState: "Paused" });
  const { code, err } = await plugin("resume");
  assert.equal(code, 1);
  assert.match(err, /declared by "test", which would revert the change; nothing is written/);
  assert.equal(await state(), "Paused");
  await steer(on, {});
});

test("status and nodes need no right on Secrets, and wait reports that it lacks this right", async () => {
  const observedGeneration = await generation();
  await tell({ observedGeneration, sources: [source("1")], conditions: inForce });
  const rules = [
    "--verb=get,list,watch",
    "--resource=globalpullsecrets.globalpullsecret.io,nodepullsecrets.globalpullsecret.io,pods,events",
  ];
  await on.cluster.kubectl("create", "clusterrole", "looker", ...rules);
  const bound = ["--clusterrole=looker", "--user=looker"];
  await on.cluster.kubectl("create", "clusterrolebinding", "looker", ...bound);

  const status = await plugin("status", "", "looker");
  assert.equal(status.code, 0, status.err);
  assert.match(status.out, /^Ready: revision 7/);
  const json = JSON.parse((await plugin("status -o json", "", "looker")).out) as GlobalPullSecret;
  assert.equal(json.status?.observedGeneration, observedGeneration);
  assert.match(
    (await plugin("status -o yaml", "", "looker")).out,
    /^apiVersion: globalpullsecret.io/,
  );
  assert.match((await plugin("nodes", "", "looker")).out, /^No agent runs/);
  const waited = await plugin("wait --timeout 20s", "", "looker");
  assert.equal(waited.code, 0, waited.err);
  assert.match(waited.err, /no right to get the Secret/);
  const added = await plugin("add quay.io -u robot --password-stdin", password, "looker");
  assert.equal(added.code, 1);
  assert.match(added.err, /403 Forbidden.*; ask for that right/);
});

test("reports an unreachable or missing cluster in one line", async () => {
  const lost = await plugin("status --context nowhere");
  assert.equal(lost.code, 2);
  assert.match(lost.err, /has no context "nowhere"/);
});

replaceTests(rig);
loginTests(rig);
shownTests(rig);
uninstallTests(rig);
