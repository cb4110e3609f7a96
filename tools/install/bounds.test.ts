/**
 * Tests settings that have no visible effect on a working API server. So
 * test/controller/bounds.test.ts cannot test them.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadAll } from "js-yaml";
import { boundsFiles } from "./bounds.ts";

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
