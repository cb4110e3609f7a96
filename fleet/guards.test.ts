/**
 * Checks that a joined cluster counts as guarded only if it has exactly the policies that a join
 * creates.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { joinedGuards, objectsOf } from "#contract/joined.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { isGuarded } from "./joined.ts";

type Fields = Readonly<Record<string, unknown>>;
type Policy = Fields & { matchConstraints: Fields & { resourceRules: readonly Fields[] } };

const guardObjects = joinedGuards.flatMap((guard) => objectsOf(guard));

const other = (more: Fields) => (spec: Fields) => ({ ...spec, ...more });

/**
 * The spec as an API server returns it. The API server adds fields to a policy, but none to a
 * binding.
 */
function returned(spec: object): Fields {
  if (!("matchConstraints" in spec)) return { ...spec };
  const { matchConstraints, ...others } = spec as Policy;
  const resourceRules = matchConstraints.resourceRules.map(other({ scope: "*" }));
  const selectors = { namespaceSelector: {}, objectSelector: {} };
  const constraints = { ...selectors, matchPolicy: "Equivalent", resourceRules };
  return { matchConstraints: constraints, ...others };
}

/**
 * Whether a cluster counts as guarded if it has all policies and bindings, and `change` has edited
 * each spec.
 */
const guarded = (change: (spec: Fields, at: number) => Fields | undefined): Promise<boolean> => {
  const specs = new Map(
    guardObjects.map(({ path, body }, at) => [path, change(returned(body.spec), at)]),
  );
  const get = async (path: string) => specs.get(path) && { spec: specs.get(path) };
  return isGuarded({ get } as unknown as Cluster);
};

test("reports a cluster as guarded while all policies and bindings are as created, even if the API server has added fields", async () => {
  assert.ok(await guarded((spec) => spec));
  assert.ok(await guarded((_, at) => ({ ...guardObjects[at]?.body.spec })));
});

test("reports a cluster as not guarded if its account lost the right to read the policies, but not if there is no answer", async () => {
  const refusing = (status: number) => {
    const error = new ApiError({ status, reason: "Refused", method: "GET", path: "/x" });
    return isGuarded({ get: async () => await Promise.reject(error) } as unknown as Cluster);
  };
  assert.equal(await refusing(403), false);
  for (const status of [0, 401, 500]) await assert.rejects(refusing(status), ApiError);
});

const constraints = (spec: Fields) => (spec as Policy).matchConstraints;
const within = (more: Fields) => (spec: Fields) => ({
  ...spec,
  matchConstraints: { ...constraints(spec), ...more },
});
const inRule = (more: Fields) => (spec: Fields) => {
  const resourceRules = constraints(spec).resourceRules.map(other(more));
  return within({ resourceRules })(spec);
};
const selector = { matchLabels: { never: "matches" } };
const everything = { apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: ["*"] };

type Changes = Readonly<Record<string, (spec: Fields) => Fields | undefined>>;
const ofPolicy: Changes = {
  "is missing": () => undefined,
  "ignores failures": other({ failurePolicy: "Ignore" }),
  "checks nothing": other({ validations: [] }),
  "checks something else": other({ validations: [{ expression: "true" }] }),
  "has another condition": other({ matchConditions: [{ name: "a", expression: "false" }] }),
  "takes parameters": other({ paramKind: { apiVersion: "v1", kind: "ConfigMap" } }),
  "matches no resource": within({ resourceRules: [] }),
  "excludes every resource": within({ excludeResourceRules: [everything] }),
  "selects namespaces": within({ namespaceSelector: selector }),
  "selects objects": within({ objectSelector: selector }),
  "matches exact versions only": within({ matchPolicy: "Exact" }),
  "matches only objects without a namespace": inRule({ scope: "Cluster" }),
  "matches named resources only": inRule({ resourceNames: ["other"] }),
};
const ofBinding: Changes = {
  "is missing": () => undefined,
  "only warns": other({ validationActions: ["Warn"] }),
  "warns as well": other({ validationActions: ["Deny", "Warn"] }),
  "is for another policy": other({ policyName: "other" }),
  "selects namespaces": other({ matchResources: { namespaceSelector: selector } }),
  "excludes every resource": other({ matchResources: { excludeResourceRules: [everything] } }),
  "takes parameters": other({ paramRef: { name: "none", parameterNotFoundAction: "Allow" } }),
};
for (const [at, { path }] of guardObjects.entries())
  for (const [what, change] of Object.entries(path.includes("bindings/") ? ofBinding : ofPolicy))
    test(`reports a cluster as not guarded if ${path.split("/").slice(-2).join("/")} ${what}`, async () =>
      assert.equal(await guarded((spec, each) => (each === at ? change(spec) : spec)), false));
