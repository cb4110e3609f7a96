/**
 * What the controller reports while the real API server's admission refuses requests of the
 * controller or of the DaemonSet controller.
 */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import type { V1DaemonSet } from "@kubernetes/client-node";
import { stays, until } from "../cluster/await.ts";
import { NodesDriver } from "#test/harness/nodes/drive.ts";
import * as plane from "./plane.ts";
import { document, paths } from "./plane.ts";
import { steer, untilCondition } from "./steer.ts";

let on: plane.Plane;
let kubelets: NodesDriver;
let running: plane.Controller | undefined;

before(async () => {
  on = await plane.startPlane();
  kubelets = new NodesDriver(on.api).start();
  for (const name of ["a", "b"]) await kubelets.add(name);
});
after(async () => {
  await running?.kill();
  await kubelets[Symbol.asyncDispose]();
  await on[Symbol.asyncDispose]();
});
afterEach(async () => {
  await plane.clear(on);
  await running?.kill();
});

const content = document({ "quay.io": "robot:one" });
const kubectl = (...args: string[]) => on.cluster.kubectl(...args);
const untilRolledOut = async () =>
  plane.untilRolledOut(on, await plane.untilPublished(on, content, 90_000));
async function start(): Promise<plane.Controller> {
  await steer(on, "100%");
  return (running = plane.startController(on.kubeconfig));
}

/**
 * Creates a ValidatingAdmissionPolicy that denies these requests in kube-system, and waits until
 * the API server enforces it.
 */
async function imposeDenial(
  name: string,
  group: string,
  resource: string,
): Promise<() => Promise<void>> {
  const rule = {
    apiGroups: [group],
    apiVersions: ["v1"],
    operations: ["CREATE", "UPDATE"],
    resources: [resource],
  };
  const kinds = "admissionregistration.k8s.io/v1";
  await on.cluster.apply({
    apiVersion: kinds,
    kind: "ValidatingAdmissionPolicy",
    metadata: { name },
    spec: {
      failurePolicy: "Fail",
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: "false", message: `${name} denies this` }],
    },
  });
  const matchResources = {
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "kube-system" } },
  };
  await on.cluster.apply({
    apiVersion: kinds,
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name },
    spec: { policyName: name, validationActions: ["Deny"], matchResources },
  });
  const probe = {
    apiVersion: group === "" ? "v1" : `${group}/v1`,
    ...(resource === "events"
      ? { kind: "Event", involvedObject: { namespace: "kube-system" } }
      : {
          kind: "DaemonSet",
          spec: {
            selector: { matchLabels: { a: "b" } },
            template: {
              metadata: { labels: { a: "b" } },
              spec: { containers: [{ name: "c", image: "i" }] },
            },
          },
        }),
    metadata: { name: "probe", namespace: "kube-system" },
  };
  const at = group === "" ? "/api/v1" : `/apis/${group}/v1`;
  const heeded = () =>
    on.api.create(`${at}/namespaces/kube-system/${resource}?dryRun=All`, probe).then(
      () => false,
      (error: Error) => error.message.includes("denies this"),
    );
  await until("the policy is enforced", heeded);
  return async () => {
    await kubectl("delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", name);
    await until("the policy is no longer enforced", async () => !(await heeded()));
  };
}

test("reports that Pod Security refuses the agents' pods, and continues once the pods are allowed", async () => {
  await kubectl(
    "label",
    "namespace",
    "kube-system",
    "pod-security.kubernetes.io/enforce=restricted",
  );
  await start();
  await plane.declare(on, content);
  const { type, message } = await plane.untilEvent(on, "PodsRefused", "without an agent", 60_000);
  assert.equal(type, "Warning");
  assert.match(message, /^GPS320 .*2 nodes without an agent.*kubectl describe daemonset/);
  await untilCondition(on, "Stalled", "True", "PodsRefused");
  await kubectl("label", "namespace", "kube-system", "pod-security.kubernetes.io/enforce-");
  await untilRolledOut();
  await untilCondition(on, "Ready", "True", "InForce");
});

test("reports the message of an admission policy that denies the DaemonSet", async () => {
  const allow = await imposeDenial("no-daemonsets", "apps", "daemonsets");
  try {
    await start();
    await plane.declare(on, content);
    await plane.untilEvent(on, "RequestRefused", "no-daemonsets denies this", 30_000);
    await untilCondition(on, "Stalled", "True", "RequestRefused");
  } finally {
    await allow();
  }
  await untilRolledOut();
});

test("when the API server refuses Events, delivers credentials and reports the rollout in status and log", async () => {
  const allow = await imposeDenial("no-events", "", "events");
  try {
    const controller = await start();
    await plane.declare(on, content);
    await untilCondition(on, "Ready", "True", "InForce");
    await until("the log reports it", () => controller.output().includes('"event":"RolledOut"'));
    assert.ok(!controller.output().includes("reconcile failed"));
  } finally {
    await allow();
  }
});

test("on OpenShift, deploys nothing and reports this, until OpenShift's API group is gone", async () => {
  const names = {
    plural: "machineconfigs",
    singular: "machineconfig",
    kind: "MachineConfig",
    listKind: "MachineConfigList",
  };
  const group = "machineconfiguration.openshift.io";
  const schema = { openAPIV3Schema: { type: "object" } };
  await on.cluster.apply({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `machineconfigs.${group}`,
      annotations: { "api-approved.kubernetes.io": "unapproved, test" },
    },
    spec: {
      group,
      names,
      scope: "Cluster",
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  });
  await until("the group is served", async () =>
    (await kubectl("get", "--raw", "/apis")).includes(group),
  );
  const controller = await start();
  await plane.declare(on, content);
  const event = await plane.untilEvent(on, "UnsupportedCluster", group);
  assert.match(event.message, /^GPS323 /);
  await until("the log reports it", () => controller.output().includes("UnsupportedCluster"));
  const absent = async () =>
    (await on.api.get(paths.global)) === undefined &&
    (await on.api.get<V1DaemonSet>(paths.daemonSet)) === undefined;
  await stays("nothing is deployed", absent, 3000);
  await kubectl("delete", "crd", `machineconfigs.${group}`);
  await untilRolledOut();
});
