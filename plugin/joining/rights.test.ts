import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubernetesObject } from "@kubernetes/client-node";
import { rightsOf } from "./rights.ts";

type Rule = { apiGroups: string[]; resources: string[]; resourceNames?: string[]; verbs: string[] };
const rules = (path: string, ...targets: readonly string[]): Rule[] => {
  const parsed = targets.map((target) => target.split("/") as [string, string]);
  const all = rightsOf(
    parsed.map(([namespace, name]) => ({ namespace, name })),
    "id/east",
  );
  return all.flatMap((object) =>
    object.path.includes(path) && "rules" in object.body ? (object.body.rules as Rule[]) : [],
  );
};

test("names the objects in every rule, because a rule without names would apply to all Secrets", () => {
  for (const targets of [[], ["kube-system/pull-secret"], ["a/x", "a/y", "b/z"]])
    for (const { resources, resourceNames = [] } of rules("role", ...targets))
      assert.ok(resourceNames.length > 0, JSON.stringify([targets, resources]));
});

/** Resource → the API group that serves it. */
const groupsOf: Readonly<Record<string, string>> = {
  secrets: "",
  "serviceaccounts/token": "",
  globalpullsecrets: "globalpullsecret.io",
  validatingadmissionpolicies: "admissionregistration.k8s.io",
  validatingadmissionpolicybindings: "admissionregistration.k8s.io",
};

test("names the API group of the resources in every rule", () => {
  const all = rules("role", "a/x");
  assert.deepEqual(
    new Set(all.flatMap(({ resources }) => resources)),
    new Set(Object.keys(groupsOf)),
  );
  for (const { apiGroups, resources } of all)
    assert.deepEqual(new Set(apiGroups), new Set(resources.map((name) => groupsOf[name])));
});

test("creates each object at the path of its version, kind, namespace and name", () => {
  for (const { path, body } of rightsOf([{ namespace: "a", name: "x" }], "id/east")) {
    const { apiVersion = "", kind = "", metadata } = body as KubernetesObject;
    const { namespace, name } = metadata ?? {};
    const parts = [
      apiVersion === "v1" ? "/api" : "/apis",
      apiVersion,
      ...(namespace === undefined ? [] : ["namespaces", namespace]),
      `${kind.toLowerCase()}s`,
      name,
    ];
    assert.equal(path, parts.join("/"));
  }
});

test("names the Secrets of a namespace only in that namespace's Role", () => {
  const roleRules = rules("/namespaces/a/roles/", "a/x", "a/y", "b/z");
  assert.deepEqual(
    roleRules.map(({ resources, resourceNames }) => [resources, resourceNames]),
    [[["secrets"], ["x", "y"]]],
  );
});

test("allows the account to renew only its own token", () => {
  const roleRules = rules("/namespaces/kube-system/roles/", "a/x");
  assert.deepEqual(
    roleRules.map(({ resources, resourceNames, verbs }) => [resources, resourceNames, verbs]),
    [[["serviceaccounts/token"], ["global-pull-secret-joined"], ["create"]]],
  );
});

test("marks every created object with the host that joined the cluster", () => {
  for (const { body } of rightsOf([], "id/east"))
    assert.ok(JSON.stringify(body).includes('"globalpullsecret.io/joined-by":"id/east"'));
});

test("binds every role to the account alone", () => {
  const name = "global-pull-secret-joined";
  const subjects = [{ kind: "ServiceAccount", name, namespace: "kube-system" }];
  for (const kind of ["Role", "ClusterRole"]) {
    const made = rightsOf([], "id/east").map(({ body }) => body as KubernetesObject);
    const apiGroup = "rbac.authorization.k8s.io";
    const metadata = made.find((object) => object.kind === kind)?.metadata;
    assert.deepEqual(
      made.find((object) => object.kind === `${kind}Binding`),
      {
        apiVersion: `${apiGroup}/v1`,
        kind: `${kind}Binding`,
        metadata,
        roleRef: { apiGroup, kind, name },
        subjects,
      },
    );
  }
});
