/**
 * Admission policies of other owners change our writes. The controller does not repeat these writes
 * all the time, and the policies cannot stop a rollout.
 */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { longTest } from "../sample.ts";
import type { V1DaemonSet } from "@kubernetes/client-node";
import { stays, until } from "../cluster/await.ts";
import { NodesDriver } from "#test/harness/nodes/drive.ts";
import * as plane from "./plane.ts";
import { content, paths } from "./plane.ts";
import { steer } from "./steer.ts";
import * as policies from "./policies.ts";

let on: plane.Plane;
let kubelets: NodesDriver;
const names = ["a", "b"];

before(async () => {
  on = await plane.startPlane();
  kubelets = new NodesDriver(on.api).start();
  for (const name of names) await kubelets.add(name);
});
after(async () => {
  await kubelets[Symbol.asyncDispose]();
  await on[Symbol.asyncDispose]();
});
afterEach(async () => {
  await on.cluster.kubectl(
    "delete",
    "mutatingadmissionpolicybinding,mutatingadmissionpolicy",
    "--all",
  );
  await steer(on, "100%");
  await using _ = plane.startController(on.kubeconfig);
  await plane.clear(on);
  kubelets.starts.length = 0;
  kubelets.mostAtOnce = 0;
});

const podSpec = async () => (await on.api.get<V1DaemonSet>(paths.daemonSet))?.spec?.template.spec;
const tolerations = async () => (await podSpec())?.tolerations?.map(({ key }) => key ?? "every");
const writes = (since: string) =>
  plane.requests(on, since).filter(({ verb }) => verb === "patch" || verb === "update");
const now = () => new Date().toISOString();

/**
 * A rollout to two nodes takes about ten rounds of the controller. Each round sends one read and
 * one write.
 */
const mostWrites = 60;

/** Waits until the controller has sent at most three writes in five seconds. */
async function untilIdle(): Promise<void> {
  const begun = Date.now();
  const last = () => writes(new Date(Date.now() - 5000).toISOString()).length;
  const rests = () => Date.now() - begun >= 5000 && last() <= 3;
  await until("the controller is at rest", rests, {
    every: 500,
    seen: () => `${last()} writes in 5 s`,
  });
}

async function rollsOut(word: string): Promise<number> {
  const since = now();
  await plane.declare(on, content(word));
  const revision = await plane.untilPublished(on, content(word), 60_000);
  await plane.untilRolledOut(on, revision);
  assert.deepEqual(kubelets.order(revision).toSorted(), names);
  assert.ok(writes(since).length <= mostWrites, `${writes(since).length} writes for a rollout`);
  return revision;
}

test("finishes rollouts and the removal with few writes when policies add items to the DaemonSet", async () => {
  const added = policies.onDaemonSets(...Object.values(policies.additions));
  await policies.impose(on, "additions", added);
  await steer(on, 1);
  await using controller = plane.startController(on.kubeconfig);
  await rollsOut("one");
  assert.equal(kubelets.mostAtOnce, 1);
  assert.deepEqual(await tolerations(), ["every", "added"]);
  assert.ok((await podSpec())?.containers[0]?.env?.some(({ name }) => name === "HTTPS_PROXY"));
  const { metadata } = (await on.api.get<V1DaemonSet>(paths.daemonSet))?.spec?.template ?? {};
  assert.equal(metadata?.labels?.["cost-center"], "7");
  await untilIdle();
  await rollsOut("two");
  await untilIdle();
  await policies.withdraw(on, "additions", added);
  const last = await rollsOut("three");
  // If other clients insert items into a list that the controller declares as a whole, the
  // controller removes these items within a minute, when it next reads the DaemonSet. In lists that
  // the API server merges item by item, the items of other clients stay.
  await until("the toleration is removed", async () => (await tolerations())?.join() === "every", {
    timeout: 90_000,
    seen: tolerations,
  });
  await untilIdle();
  assert.equal(kubelets.order(last).length, names.length, "a node was asked again");
  await plane.clear(on);
  assert.equal(await controller.stop(), 0);
});

longTest(
  "does not upgrade the DaemonSet while a policy changes its update strategy, but continues rollouts",
  async () => {
    await steer(on, 1);
    const former = plane.startController(on.kubeconfig);
    await rollsOut("one");
    const onDelete = policies.onDaemonSets(policies.onDelete);
    await policies.impose(on, "on-delete", onDelete);
    await rollsOut("two");
    assert.equal(await former.stop(), 0);
    await using controller = plane.startController(
      on.kubeconfig,
      "--agent-requests",
      "memory=33Mi",
    );
    const line =
      /admission changes spec\.updateStrategy\.type of daemonsets\/global-pull-secret-syncer: exempt/;
    await until("the log reports it", () => line.test(controller.output()));
    const isUpgraded = async () => JSON.stringify(await podSpec()).includes("33Mi");
    await stays("the DaemonSet is not written", async () => !(await isUpgraded()), 3000);
    await policies.withdraw(on, "on-delete", onDelete);
    await until("the DaemonSet is written", isUpgraded, { timeout: 90_000 });
    assert.equal(kubelets.mostAtOnce, 1);
  },
);

test("while a policy changes the content of global-pull-secret, asks no node and logs what to do", async () => {
  const other = policies.onSecrets(policies.otherData);
  await policies.impose(on, "other", other);
  await steer(on, 1);
  await using controller = plane.startController(on.kubeconfig);
  await plane.declare(on, content("one"));
  await until("the log reports it", () =>
    /admission changes data\.\.dockerconfigjson of secrets\/global-pull-secret: exempt/.test(
      controller.output(),
    ),
  );
  assert.equal(await on.api.get(paths.daemonSet), undefined);
  await policies.withdraw(on, "other", other);
  await plane.untilRolledOut(on, await plane.untilPublished(on, content("one"), 90_000));
});

longTest(
  "finishes a rollout and a removal when a policy on DaemonSets was created after the first rollout",
  async () => {
    await steer(on, "100%");
    await using controller = plane.startController(on.kubeconfig);
    await rollsOut("one");
    const added = policies.onDaemonSets(policies.additions.toleration, policies.mirrorImages);
    await policies.impose(on, "additions", added);
    await rollsOut("two");
    // A rollout does not write the DaemonSet, so the policy changes nothing.
    assert.equal((await podSpec())?.containers[0]?.image, plane.agentImage);
    await untilIdle();
    await plane.clear(on);
    assert.equal(await controller.stop(), 0);
  },
);
