/**
 * Tests settings that have no visible effect on a working API server. Therefore
 * test/controller/bounds.test.ts cannot test these settings.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { loadAll } from "js-yaml";
import { fleetGuard } from "#contract/joined.ts";
import { boundsFiles } from "./bounds.ts";
import { manifests } from "./yaml.ts";

type Written = Readonly<{
  kind: string;
  spec: Readonly<{
    failurePolicy?: string;
    paramKind?: object;
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

test("the fleet's component has the policy that `fleet rbac` prints", () => {
  const file = join(manifests, "fleet/cluster-resource-set/policy.yaml");
  const [policy] = loadAll(readFileSync(file, "utf8")) as Written[];
  assert.deepEqual(policy?.spec, fleetGuard("global-pull-secret-fleet").spec);
});
