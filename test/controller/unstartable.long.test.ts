/**
 * Many nodes cannot start the agent, or the API server refuses their pods. All other nodes are
 * served, on first install and after a change. The API server and the DaemonSet controller are
 * real.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { NodesDriver } from "#test/harness/nodes/drive.ts";
import { until } from "../cluster/await.ts";
import * as plane from "./plane.ts";
import { content } from "./plane.ts";
import { steer, untilCondition } from "./steer.ts";

const admission = "admissionregistration.k8s.io/v1";
const policy = "no-pods-on-bare";

let on: plane.Plane;
let kubelets: NodesDriver;
let isRepaired = false;

before(async () => {
  on = await plane.startPlane();
  kubelets = new NodesDriver(on.api, { leaseSeconds: 120, pace: 500 }).start();
  kubelets.behaviour = (node) =>
    node.startsWith("stuck") && !isRepaired ? "never starts" : "ready";
});
after(async () => {
  await kubelets?.[Symbol.asyncDispose]();
  await on?.[Symbol.asyncDispose]();
});

/** Lets the API server refuse pods of nodes named bare-…. */
async function refuseBare(): Promise<void> {
  const node =
    "object.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution" +
    ".nodeSelectorTerms[0].matchFields[0].values[0]";
  const rule = {
    apiGroups: [""],
    apiVersions: ["v1"],
    operations: ["CREATE"],
    resources: ["pods"],
  };
  const how = { manager: "test", force: true };
  await on.api.apply(
    `/apis/${admission}/validatingadmissionpolicies/${policy}`,
    {
      apiVersion: admission,
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: policy },
      spec: {
        matchConstraints: { resourceRules: [rule] },
        validations: [{ expression: `!has(object.spec.affinity) || !${node}.startsWith("bare")` }],
      },
    },
    how,
  );
  await on.api.apply(
    `/apis/${admission}/validatingadmissionpolicybindings/${policy}`,
    {
      apiVersion: admission,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name: policy },
      spec: { policyName: policy, validationActions: ["Deny"] },
    },
    how,
  );
}

const cases = [
  { size: 20, stuck: 3, bare: 0 },
  { size: 100, stuck: 12, bare: 0 },
  { size: 100, stuck: 30, bare: 10 },
];
for (const { size, stuck, bare } of cases)
  test(`serves all other nodes if ${stuck} of ${size} nodes cannot start the agent and ${bare} have no pod`, async (t) => {
    isRepaired = false;
    // The case before ended with one more node, and 10% of 101 nodes is rounded up to 11.
    kubelets.mostAtOnce = 0;
    await refuseBare();
    const kinds = { stuck, bare, well: size - stuck - bare };
    const names = Object.entries(kinds).flatMap(([kind, count]) =>
      Array.from({ length: count }, (_, at) => `${kind}-${size}-${at}`),
    );
    const isBare = (name: string) => name.startsWith("bare");
    for (const name of names) if (!isBare(name)) await kubelets.add(name);
    const well = names.filter((name) => name.startsWith("well"));
    const have = (word: string) =>
      kubelets.model.nodes
        .filter(({ applied }) => applied === content(word))
        .map(({ name }) => name);
    const untilServed = async (word: string) => {
      const began = performance.now();
      await until(
        `all others have ${word}`,
        () => well.every((name) => have(word).includes(name)),
        { timeout: 240_000, seen: () => `${have(word).length} have it` },
      );
      t.diagnostic(`${word}: ${((performance.now() - began) / 1000).toFixed(0)} s`);
      assert.deepEqual(have(word).toSorted(), well.toSorted());
    };
    await steer(on, "10%");
    await using controller = plane.startController(on.kubeconfig);
    await plane.declare(on, content("one"));
    await untilServed("one");
    // These nodes are added after the others, because a refused pod makes the DaemonSet controller
    // skip other nodes for minutes.
    for (const name of names) if (isBare(name)) await kubelets.add(name);
    await plane.declare(on, content("two"));
    await untilServed("two");
    const { message } = await untilCondition(on, "NodesLeftOut", "True", undefined, 120_000);
    assert.match(message, /stuck|bare/);
    assert.ok(kubelets.mostAtOnce <= size / 10, `${kubelets.mostAtOnce} nodes at once`);

    isRepaired = true;
    await on.cluster.kubectl("delete", "validatingadmissionpolicybinding", policy);
    // When a node joins, the DaemonSet controller immediately tries to create all refused pods
    // again.
    names.push(`well-${size}-late`);
    await kubelets.add(`well-${size}-late`);
    await until("these nodes have the content as well", () => have("two").length === names.length, {
      timeout: 240_000,
      seen: () => `${have("two").length} have it`,
    });
    assert.ok(!controller.output().includes("RolloutHalted"), "no content failed");
    await on.cluster.kubectl("delete", "secret", "additional-pull-secret", "-n", "kube-system");
    await plane.untilGone(on, 240_000);
    assert.ok(kubelets.model.nodes.every(({ applied }) => applied === undefined));
    for (const name of names) await kubelets.remove(name);
  });
