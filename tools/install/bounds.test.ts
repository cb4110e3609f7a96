/**
 * Tests settings that have no visible effect on a working API server. Therefore
 * test/controller/bounds.test.ts cannot test these settings.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { load, loadAll } from "js-yaml";
import { fleetGuard } from "#contract/joined.ts";
import { boundsFiles } from "./bounds.ts";
import { manifests, textOf } from "./yaml.ts";

type Written = Readonly<{
  kind: string;
  spec: Readonly<{
    failurePolicy?: string;
    paramKind?: object;
    matchConstraints?: Readonly<{
      resourceRules: readonly Readonly<{ apiGroups: string[]; resources: string[] }>[];
    }>;
    paramRef?: Readonly<{ parameterNotFoundAction?: string }>;
    validationActions?: readonly string[];
  }>;
}>;

for (const [file, text] of Object.entries(boundsFiles()))
  test(`${file} denies requests that it cannot judge`, () => {
    const [policy, binding] = loadAll(text) as Written[];
    assert.equal(policy?.kind, "ValidatingAdmissionPolicy");
    assert.equal(policy.spec.failurePolicy, "Fail");
    assert.deepEqual(binding?.spec.validationActions, ["Deny"]);
    const wanted = policy.spec.paramKind && "Deny";
    assert.equal(binding.spec.paramRef?.parameterNotFoundAction, wanted);
  });

/** Resources that the account may write without a policy → the reason. */
const free: Readonly<Record<string, string>> = {
  "/events": "they expire with all their metadata, and the account only creates them",
  "globalpullsecret.io/globalpullsecrets/status": "the API server ignores its metadata",
};

test("limits each resource that the account's roles let it write", () => {
  type Rule = Readonly<{ apiGroups: string[]; resources: string[]; verbs: string[] }>;
  const named = ({ apiGroups, resources }: Omit<Rule, "verbs">) =>
    apiGroups.flatMap((group) => resources.map((one) => `${group}/${one}`));
  const writable = ["base/role.yaml", "base/clusterrole.yaml"]
    .flatMap((file) => (load(textOf(file)) as { rules: Rule[] }).rules)
    .filter(({ verbs }) => verbs.some((verb) => ["create", "patch", "update"].includes(verb)))
    .flatMap(named);
  const limited = Object.values(boundsFiles())
    .flatMap((text) => loadAll(text) as Written[])
    .flatMap(({ spec }) => spec.matchConstraints?.resourceRules.flatMap(named) ?? []);
  const expected = [...new Set([...limited, ...Object.keys(free)])].toSorted();
  assert.deepEqual([...new Set(writable)].toSorted(), expected);
});

test("the fleet's component has the policy that `fleet rbac` prints", () => {
  const file = join(manifests, "fleet/cluster-resource-set/policy.yaml");
  const [policy] = loadAll(readFileSync(file, "utf8")) as Written[];
  assert.deepEqual(policy?.spec, fleetGuard("global-pull-secret-fleet").spec);
});
