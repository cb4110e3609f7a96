import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { loadAll } from "js-yaml";
import { call } from "#plugin/fake.fixture.ts";

type Document = Readonly<{
  kind: string;
  metadata: Readonly<{ name: string }>;
  rules?: readonly object[];
  spec?: object;
}>;

async function printed(...flags: readonly string[]): Promise<readonly Document[]> {
  const { code, out } = await call(["fleet rbac", ...flags]);
  assert.equal(code, 0);
  return loadAll(out) as Document[];
}
const guards = ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"];
const kinds = (all: readonly Document[]) => all.map(({ kind }) => kind);

test("allows writing one Secret by its name in its namespace, and nothing else", async () => {
  const all = await printed("--target", "team/123");
  for (const target of ["team/123", "team/fleet-pull-secret", "kube-system/pull-secret"])
    assert.deepEqual(
      kinds(await printed("--target", target)),
      [...guards, "ServiceAccount", "Role", "RoleBinding"],
      target,
    );
  for (const { metadata } of all.slice(2))
    assert.partialDeepStrictEqual(metadata, { namespace: "team" });
  const verbs = ["get", "list", "watch", "create", "patch", "delete"];
  const rule = { apiGroups: [""], resources: ["secrets"], resourceNames: ["123"], verbs };
  assert.deepEqual(all[3]?.rules, [rule]);
});

test("for the target fleet-pull-secret, also allows reading the cluster's GlobalPullSecret", async () => {
  const all = await printed("--target", "kube-system/fleet-pull-secret");
  assert.deepEqual(kinds(all).slice(5), ["ClusterRole", "ClusterRoleBinding"]);
  const rule = {
    apiGroups: ["globalpullsecret.io"],
    resources: ["globalpullsecrets"],
    resourceNames: ["cluster"],
    verbs: ["get", "list", "watch"],
  };
  assert.deepEqual(all[5]?.rules, [rule]);
});

test("prints the admission policy that the manifests of the ClusterResourceSet contain", async () => {
  const file = "manifests/fleet/cluster-resource-set/rendered.yaml";
  const shipped = loadAll(readFileSync(file, "utf8")) as Document[];
  const guardsIn = (documents: readonly Document[]) =>
    documents.flatMap(({ kind, metadata: { name }, spec }) =>
      guards.includes(kind) ? [{ kind, name, spec }] : [],
    );
  assert.equal(guardsIn(shipped).length, 2);
  assert.deepEqual(guardsIn(shipped), guardsIn(await printed()));
});

for (const target of ["pull-secret", "a/b/c", "A/b", "a/b\nc", "a/", "../b/c"])
  test(`refuses --target ${JSON.stringify(target)} as misuse`, async () => {
    const { code, err } = await call(["fleet rbac", "--target", target]);
    assert.equal(code, 2);
    assert.match(err, /^--target .*: is not NAMESPACE\/NAME/);
  });

const theirs = ["additional-pull-secret", "global-pull-secret", "global-pull-secret-joined-token"];
for (const name of theirs)
  for (const args of [
    ["fleet rbac", "--target"],
    ["fleet join", "east", "--context", "east", "--secret"],
  ])
    test(`${args[0]} gives no right to kube-system/${name}`, async () => {
      const { code, err } = await call([...args, `kube-system/${name}`]);
      assert.equal(code, 2);
      assert.match(err, /belongs to that cluster, so no FleetSecret may place it; give another/);
    });
