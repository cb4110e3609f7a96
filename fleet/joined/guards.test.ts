import assert from "node:assert/strict";
import { test } from "node:test";
import { joinedGuards, objectsOf } from "#contract/joined/guards.ts";
import { covers } from "./guards.ts";

const [policy, binding] = joinedGuards
  .flatMap((one) => objectsOf(one))
  .map(({ body }) => body.spec);

/** As an API server gives it back. */
const defaulted = (spec: object) => {
  const live = structuredClone(spec) as { matchConstraints: { resourceRules: object[] } };
  live.matchConstraints.resourceRules = live.matchConstraints.resourceRules.map((one) => ({
    ...one,
    scope: "*",
  }));
  return { ...live, matchConstraints: { ...live.matchConstraints, matchPolicy: "Equivalent" } };
};

test("a policy is there as it was made, with what the API server adds", () => {
  assert.ok(policy && binding);
  assert.ok(covers(defaulted(policy), policy));
  assert.ok(covers(binding, binding));
});

const changes: readonly (readonly [what: string, change: object])[] = [
  ["ignores failures", { failurePolicy: "Ignore" }],
  ["judges nothing", { validations: [] }],
  ["judges something else", { validations: [{ expression: "true" }] }],
  ["has another condition besides", { matchConditions: [{ name: "a", expression: "false" }, {}] }],
  ["matches nothing", { matchConstraints: { resourceRules: [] } }],
];
for (const [what, change] of changes)
  test(`a policy that ${what} is another`, () => {
    assert.ok(policy);
    assert.ok(!covers({ ...defaulted(policy), ...change }, policy));
  });

test("a binding that only warns is another, and one that is gone as well", () => {
  assert.ok(!covers({ ...binding, validationActions: ["Warn"] }, binding));
  assert.ok(!covers(undefined, binding));
});
