/**
 * Tests settings that have no visible effect on a working API server. Therefore
 * test/controller/bounds.test.ts cannot test these settings.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadAll } from "js-yaml";
import { roleBinding } from "#controller/objects/daemonset.ts";
import {
  fleetGuard,
  joinedGuards,
  objectsOf as objectsOfGuard,
  type Guard,
} from "#contract/joined.ts";
import { keysSet, sameOwners } from "#contract/own-metadata.ts";
import { call } from "#plugin/fake.fixture.ts";
import { rightsOf } from "#plugin/joining/rights.ts";
import { apiVersion, copyOf } from "#tenants/rules/copies.ts";
import { bounds } from "./bounds.ts";
import { controller as account, textOf } from "./bounds-text.ts";
import { objectsOf, textOf as fileOf } from "./yaml.ts";

type FlowSchemaSpec = Readonly<{ rules: readonly object[]; matchingPrecedence: number }>;

type Written = Readonly<{
  apiVersion: string;
  kind: string;
  metadata: Readonly<{ name: string }>;
  spec: Readonly<{
    failurePolicy?: string;
    paramKind?: object;
    matchConstraints?: Readonly<{
      resourceRules: readonly (Scope & Readonly<{ apiVersions: string[]; operations: string[] }>)[];
    }>;
    matchConditions?: readonly object[];
    policyName?: string;
    paramRef?: Readonly<{ parameterNotFoundAction?: string }>;
    validationActions?: readonly string[];
  }>;
}>;

/** A policy and its binding. */
const ofController = Object.values(bounds).map((its) => loadAll(textOf(its)) as Written[]);
const written = (guard: Guard) => objectsOfGuard(guard).map(({ body }) => body as Written);
const fleetPolicy = fleetGuard("global-pull-secret-fleet");

for (const [policy, binding, ...others] of [
  ...ofController,
  ...[...joinedGuards, fleetPolicy].map(written),
])
  test(`the policy ${policy?.metadata.name} denies requests that it cannot judge`, () => {
    assert.deepEqual(others, []);
    assert.ok(policy !== undefined && binding !== undefined);
    for (const { apiVersion } of [policy, binding])
      assert.equal(apiVersion, "admissionregistration.k8s.io/v1");
    assert.equal(policy.kind, "ValidatingAdmissionPolicy");
    assert.equal(policy.spec.failurePolicy, "Fail");
    for (const { apiVersions } of policy.spec.matchConstraints?.resourceRules ?? assert.fail())
      assert.ok(apiVersions.length > 0);
    assert.equal(binding.kind, "ValidatingAdmissionPolicyBinding");
    assert.equal(binding.spec.policyName, policy.metadata.name);
    assert.deepEqual(binding.spec.validationActions, ["Deny"]);
    const expectedAction = policy.spec.paramKind && "Deny";
    assert.equal(binding.spec.paramRef?.parameterNotFoundAction, expectedAction);
  });

/** Writes that the controller may make without a policy → the reason. */
const free: Readonly<Record<string, string>> = {
  "CREATE /events": "they expire with all their metadata, and the account only creates them",
  "UPDATE globalpullsecret.io/globalpullsecrets/status": "the API server ignores its metadata",
  "UPDATE globalpullsecret.io/nodepullsecrets/status": "the policy for nodes refuses every write",
};

const operationOf: Readonly<Record<string, string>> = {
  create: "CREATE",
  patch: "UPDATE",
  update: "UPDATE",
};

type Scope = Readonly<{ apiGroups: string[]; resources: string[] }>;
const each = ({ apiGroups, resources }: Scope, operations: readonly string[]): string[] =>
  operations.flatMap((operation) =>
    apiGroups.flatMap((group) => resources.map((resource) => `${operation} ${group}/${resource}`)),
  );

/** `OPERATION GROUP/RESOURCE` of all requests that the policies judge. */
const judgedBy = (objects: readonly Written[]): ReadonlySet<string> => {
  const policies = objects.filter(({ kind }) => kind === "ValidatingAdmissionPolicy");
  const rules = policies.flatMap(({ spec }) => spec.matchConstraints?.resourceRules ?? []);
  return new Set(rules.flatMap((rule) => each(rule, rule.operations)));
};

/** `OPERATION GROUP/RESOURCE` of all writes that the roles allow. */
const allowedBy = (roles: readonly object[]): ReadonlySet<string> => {
  const rules = roles.flatMap((role) => ("rules" in role ? role.rules : []));
  const writes = (rules as (Scope & { verbs: string[] })[]).flatMap((rule) =>
    each(
      rule,
      rule.verbs.flatMap((verb) => operationOf[verb] ?? []),
    ),
  );
  return new Set(writes);
};

test("limits each write that the controller's roles allow, and no other write", () => {
  const roles = objectsOf(fileOf("base/rendered.yaml")).filter(
    ({ kind, metadata }) => kind.endsWith("Role") && metadata.name === account,
  );
  // Also a deletion: without the DaemonSet, another controller can adopt its pods.
  const judged = [...judgedBy(ofController.flat()), ...Object.keys(free)];
  assert.deepEqual(new Set([...allowedBy(roles), "DELETE apps/daemonsets"]), new Set(judged));
});

test("limits each write that the rights of a joined cluster's account allow, and judges that account", () => {
  const rights = rightsOf([{ namespace: "web", name: "pull-secret" }], "id/east");
  const objects = rights.map(({ body }) => body);
  assert.deepEqual(allowedBy(objects), judgedBy(joinedGuards.flatMap(written)));
  const subjects = objects.flatMap((object) => ("subjects" in object ? object.subjects : []));
  assert.ok(subjects.length > 0);
  for (const { namespace, name } of subjects as { namespace: string; name: string }[])
    for (const [policy] of joinedGuards.map(written))
      assert.deepEqual(policy?.spec.matchConditions, [
        {
          name: "account",
          expression: `request.userInfo.username == 'system:serviceaccount:${namespace}:${name}'`,
        },
      ]);
});

test("limits each write that the rights of `fleet rbac` allow, and those of `via: ClusterResourceSet`", async () => {
  const { out } = await call(["fleet rbac"]);
  const objects = out.split("---\n").map((text) => JSON.parse(text) as Written);
  const more = ["CREATE", "UPDATE"].map(
    (verb) => `${verb} addons.cluster.x-k8s.io/clusterresourcesets`,
  );
  assert.deepEqual(new Set([...allowedBy(objects), ...more]), judgedBy(objects));
});

test("the agents' FlowSchema matches each of their requests, before that of kube-system", () => {
  const objects = objectsOf(fileOf("base/rendered.yaml"));
  const schema = objects.find(({ kind }) => kind === "FlowSchema");
  assert.ok(schema !== undefined);
  const subjects = roleBinding.subjects?.map(({ kind, name, namespace }) => ({
    kind,
    serviceAccount: { name, namespace },
  }));
  const everything = { verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"] };
  const { rules, matchingPrecedence } = schema.spec as FlowSchemaSpec;
  assert.deepEqual(rules, [{ subjects, resourceRules: [everything] }]);
  assert.ok(matchingPrecedence < 900, "the precedence of kube-system-service-accounts");
});

test("the fleet's component has the policy that `fleet rbac` prints", () => {
  const objects = objectsOf(fileOf("fleet/cluster-resource-set/rendered.yaml"));
  const policy = objects.find(({ kind }) => kind === "ValidatingAdmissionPolicy");
  assert.deepEqual(policy?.["spec"], fleetPolicy.spec);
});

test("the policy for tenants limits their account to the metadata that the tenant's side gives a copy", () => {
  const object = { apiVersion, kind: "SyncSecret", metadata: {} } as const;
  const { labels, annotations } = copyOf(object, { type: "", data: {} }, "", "id").metadata;
  const ofLabels = keysSet("labels", Object.keys(labels));
  const ofAnnotations = keysSet("annotations", Object.keys(annotations));
  const foreign = `${ofLabels} + ${ofAnnotations}`.replaceAll(/\n\s*/g, " ");
  const objects = objectsOf(fileOf("sync/management/rendered.yaml"));
  const policy = objects.find(
    ({ kind, metadata }) =>
      kind === "ValidatingAdmissionPolicy" && metadata.name.endsWith("metadata"),
  );
  assert.partialDeepStrictEqual(policy?.["spec"], {
    variables: [{ name: "foreign", expression: foreign }],
    validations: [{ expression: sameOwners }, { expression: "variables.foreign == []" }],
  });
});
