import assert from "node:assert/strict";
import { test } from "node:test";
import { joinedGuards, objectsOf } from "#contract/joined.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { covers, isGuarded } from "./joined.ts";

const [policy, binding] = joinedGuards
  .flatMap((one) => objectsOf(one))
  .map(({ body }) => body.spec);

/** As an API server returns it. */
const defaulted = (spec: object) => {
  const live = structuredClone(spec) as { matchConstraints: { resourceRules: object[] } };
  live.matchConstraints.resourceRules = live.matchConstraints.resourceRules.map((one) => ({
    ...one,
    scope: "*",
  }));
  return { ...live, matchConstraints: { ...live.matchConstraints, matchPolicy: "Equivalent" } };
};

test("recognizes a policy as created, with the API server's additions", () => {
  assert.ok(policy && binding);
  assert.ok(covers(defaulted(policy), policy));
  assert.ok(covers(binding, binding));
});

const changes: readonly (readonly [what: string, change: object])[] = [
  ["ignores failures", { failurePolicy: "Ignore" }],
  ["judges nothing", { validations: [] }],
  ["judges something else", { validations: [{ expression: "true" }] }],
  ["has an additional condition", { matchConditions: [{ name: "a", expression: "false" }, {}] }],
  ["matches nothing", { matchConstraints: { resourceRules: [] } }],
];
for (const [what, change] of changes)
  test(`notices a changed policy: ${what}`, () => {
    assert.ok(policy);
    assert.ok(!covers({ ...defaulted(policy), ...change }, policy));
  });

test("notices a binding that only warns, or is missing", () => {
  assert.ok(!covers({ ...binding, validationActions: ["Warn"] }, binding));
  assert.ok(!covers(undefined, binding));
});

test("reports a cluster as guarded while all policies and their bindings are as created", async () => {
  const made = joinedGuards.flatMap((one) => objectsOf(one));
  const guarded = (of: (body: { spec: object }, at: number) => object | undefined) => {
    const bodies = new Map(made.map(({ path, body }, at) => [path, of(body, at)]));
    const cluster = { get: (path: string) => Promise.resolve(bodies.get(path)) };
    return isGuarded(cluster as unknown as Cluster);
  };
  assert.ok(await guarded((body) => body));
  for (const lost of made.keys()) {
    const path = made[lost]?.path;
    assert.ok(!(await guarded((body, at) => (at === lost ? undefined : body))), path);
    const other = { failurePolicy: "Ignore", validationActions: ["Audit"] };
    const changed = (body: { spec: object }) => ({ ...body, spec: { ...body.spec, ...other } });
    assert.ok(!(await guarded((body, at) => (at === lost ? changed(body) : body))), path);
  }
});
