import assert from "node:assert/strict";
import { test } from "node:test";
import { loadAll } from "js-yaml";
import { call } from "../fake.fixture.ts";

type Document = Readonly<{ kind: string; metadata: object; rules?: readonly object[] }>;

async function printed(...flags: readonly string[]): Promise<readonly Document[]> {
  const { code, out } = await call(["fleet rbac", ...flags]);
  assert.equal(code, 0);
  return loadAll(out) as Document[];
}
const kinds = (all: readonly Document[]) => all.map(({ kind }) => kind);

test("one Secret by its name may be written, in its namespace, and nothing else", async () => {
  const all = await printed("--target", "team/123");
  assert.deepEqual(kinds(all), ["ServiceAccount", "Role", "RoleBinding"]);
  for (const { metadata } of all) assert.partialDeepStrictEqual(metadata, { namespace: "team" });
  const verbs = ["get", "list", "watch", "create", "patch", "update", "delete"];
  const rule = { apiGroups: [""], resources: ["secrets"], resourceNames: ["123"], verbs };
  assert.deepEqual(all[1]?.rules, [rule]);
});

test("of what is handed over the cluster's own object may be read as well", async () => {
  const all = await printed("--target", "kube-system/fleet-pull-secret");
  assert.deepEqual(kinds(all).slice(3), ["ClusterRole", "ClusterRoleBinding"]);
  const rule = {
    apiGroups: ["globalpullsecret.io"],
    resources: ["globalpullsecrets"],
    resourceNames: ["cluster"],
    verbs: ["get", "list", "watch"],
  };
  assert.deepEqual(all[3]?.rules, [rule]);
});

for (const target of ["pull-secret", "a/b/c", "A/b", "a/b\nc", "a/", "../b/c"])
  test(`--target ${JSON.stringify(target)} is misuse`, async () => {
    const { code, err } = await call(["fleet rbac", "--target", target]);
    assert.equal(code, 2);
    assert.match(err, /^--target .*: is no NAMESPACE\/NAME/);
  });
