import assert from "node:assert/strict";
import { test } from "node:test";
import { rightsOf } from "./rights.ts";

type Rule = { resources: string[]; resourceNames?: string[]; verbs: string[] };
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
