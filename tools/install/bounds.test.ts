/**
 * Tests settings that have no visible effect on a working API server. Therefore
 * test/controller/bounds.test.ts cannot test these settings.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadAll } from "js-yaml";
import { roleBinding } from "#controller/objects/daemonset.ts";
import { fleetGuard } from "#contract/joined.ts";
import { keysSet, sameOwners } from "#contract/own-metadata.ts";
import { apiVersion, copyOf } from "#tenants/rules/copies.ts";
import { bounds } from "./bounds.ts";
import { controller as account, textOf } from "./bounds-text.ts";
import { objectsOf, textOf as fileOf } from "./yaml.ts";

type FlowSchemaSpec = Readonly<{ rules: readonly object[]; matchingPrecedence: number }>;

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

for (const [name, its] of Object.entries(bounds))
  test(`the policy for ${name} denies requests that it cannot judge`, () => {
    const [policy, binding] = loadAll(textOf(its)) as Written[];
    assert.equal(policy?.kind, "ValidatingAdmissionPolicy");
    assert.equal(policy.spec.failurePolicy, "Fail");
    assert.deepEqual(binding?.spec.validationActions, ["Deny"]);
    const expectedAction = policy.spec.paramKind && "Deny";
    assert.equal(binding.spec.paramRef?.parameterNotFoundAction, expectedAction);
  });

/** Resources that the account may write without a policy → the reason. */
const free: Readonly<Record<string, string>> = {
  "/events": "they expire with all their metadata, and the account only creates them",
  "globalpullsecret.io/globalpullsecrets/status": "the API server ignores its metadata",
  "globalpullsecret.io/nodepullsecrets/status": "the policy for nodes refuses every write",
};

test("limits each resource that the account's roles let it write", () => {
  type Rule = Readonly<{ apiGroups: string[]; resources: string[]; verbs: string[] }>;
  const named = ({ apiGroups, resources }: Omit<Rule, "verbs">) =>
    apiGroups.flatMap((group) => resources.map((resource) => `${group}/${resource}`));
  const writable = objectsOf(fileOf("base/rendered.yaml"))
    .filter(({ kind, metadata }) => kind.endsWith("Role") && metadata.name === account)
    .flatMap(({ rules }) => rules as Rule[])
    .filter(({ verbs }) => verbs.some((verb) => ["create", "patch", "update"].includes(verb)))
    .flatMap(named);
  const limited = Object.values(bounds)
    .flatMap((its) => loadAll(textOf(its)) as Written[])
    .flatMap(({ spec }) => spec.matchConstraints?.resourceRules.flatMap(named) ?? []);
  const expected = [...new Set([...limited, ...Object.keys(free)])].toSorted();
  assert.deepEqual([...new Set(writable)].toSorted(), expected);
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
  assert.deepEqual(policy?.["spec"], fleetGuard("global-pull-secret-fleet").spec);
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
