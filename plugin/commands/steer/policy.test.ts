import assert from "node:assert/strict";
import { test } from "node:test";
import { globalPullSecretPath } from "#kube/client/paths.ts";
import { call, FakeCluster, refusal } from "#plugin/fake.fixture.ts";
import { object } from "#plugin/object.fixture.ts";

const spec = { managementState: "Managed", rollout: { maxUnavailable: "25%" } };
const argv = ["policy", "--spec", JSON.stringify(spec)];

function declaredBy(manager: string, fields: object, operation = "Apply"): FakeCluster {
  const managedFields = [{ manager, operation, fieldsV1: { "f:spec": fields } }];
  const cluster = new FakeCluster();
  cluster.objects.set(globalPullSecretPath, object({ metadata: { managedFields } }));
  return cluster;
}

for (const [whose, cluster] of [
  ["no object yet", new FakeCluster()],
  ["an earlier policy", declaredBy("global-pull-secret-policy", { "f:managementState": {} })],
  ["a pause of the plugin's", declaredBy("kubectl-pull-secret", { "f:managementState": {} })],
  ["another field by Git", declaredBy("argocd-controller", { "f:conflictPolicy": {} })],
] as const)
  test(`policy declares exactly the given fields when there is ${whose}`, async () => {
    const { code, out } = await call(argv, { cluster });
    assert.deepEqual([code, out], [0, "policy declared\n"]);
    const [{ body, options } = { body: {}, options: {} }] = cluster.writes;
    assert.deepEqual((body as { spec: object }).spec, spec);
    assert.deepEqual(options, { manager: "global-pull-secret-policy", force: true });
  });

for (const [path, fields] of [
  ["spec.managementState", { "f:managementState": {} }],
  ["spec.rollout.maxUnavailable", { "f:rollout": { "f:maxUnavailable": {} } }],
] as const)
  test(`policy writes nothing when another tool declares ${path}`, async () => {
    const cluster = declaredBy("argocd-controller", fields);
    const { code, err } = await call(argv, { cluster });
    assert.equal(code, 1);
    assert.ok(err.includes(`${path}: declared by "argocd-controller"`), err);
    assert.deepEqual(cluster.writes, []);
  });

test("policy judges again when Git declares a field between the read and the write", async () => {
  const cluster = declaredBy("global-pull-secret-policy", { "f:managementState": {} });
  const theirs = declaredBy("argocd-controller", { "f:managementState": {} });
  cluster.before = ({ verb, path, body }) => {
    const { resourceVersion } = (body as { metadata: { resourceVersion?: string } }).metadata;
    assert.notEqual(resourceVersion, undefined, "an API server compares only a given version");
    cluster.objects.set(path, theirs.objects.get(path) ?? {});
    throw refusal(409, verb, path);
  };
  const { code, err } = await call(argv, { cluster });
  assert.equal(code, 1);
  assert.match(err, /spec\.managementState: declared by "argocd-controller"/);
});

for (const text of ["", "x", "[]", "null", "1"])
  test(`policy refuses --spec ${JSON.stringify(text)}`, async () => {
    const { code, err } = await call(["policy", "--spec", text]);
    assert.equal(code, 2);
    assert.match(err, /^--spec.*: is not a JSON object; give the fields of spec\n$/);
  });
