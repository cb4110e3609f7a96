import assert from "node:assert/strict";
import { test } from "node:test";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import { globalPullSecretPath, leaseIn } from "#kube/client/paths.ts";
import { call, FakeCluster, refusal } from "../fake.fixture.ts";
import { object, conditionsOf } from "../object.fixture.ts";
import { deployment } from "../removal/objects.ts";

type Body = Readonly<{
  metadata: Readonly<{ annotations?: Record<string, string>; resourceVersion: string }>;
  spec?: object;
}>;

/** Returns the fields of the last patch. */
function patched({ writes }: FakeCluster): Body {
  const [{ verb, path, body } = { verb: "", path: "", body: {} }] = writes.slice(-1);
  assert.deepEqual([verb, path], ["patch", globalPullSecretPath]);
  return body as Body;
}

function clusterWith(reported: GlobalPullSecret): FakeCluster {
  const cluster = new FakeCluster();
  cluster.objects.set(globalPullSecretPath, reported);
  return cluster;
}

for (const [argv, managementState, said] of [
  ["pause", "Paused", /resume ends it/],
  ["resume", "Managed", /pull-secret wait/],
  ["withdraw --yes", "Withdrawn", /pull-secret wait/],
] as const)
  test(`\`${argv}\` writes one field`, async () => {
    const cluster = clusterWith(object({ metadata: { uid: "u1" } }));
    const { code, out } = await call(argv.split(" "), { cluster });
    assert.equal(code, 0);
    assert.match(out, said);
    const metadata = { uid: "u1", resourceVersion: "900" };
    assert.deepEqual(patched(cluster), { metadata, spec: { managementState } });
  });

test("`retry` writes a new time into the annotation, and does not change the spec", async () => {
  const cluster = clusterWith(object({}));
  assert.equal((await call(["retry"], { cluster })).code, 0);
  const body = patched(cluster);
  assert.equal(body.spec, undefined);
  const asked = body.metadata.annotations?.["globalpullsecret.io/retry"] ?? "";
  assert.ok(Math.abs(Date.parse(asked) - Date.now()) < 60_000, asked);
});

const ofState = { "f:spec": { "f:managementState": {} } };
const ofRetry = { "f:metadata": { "f:annotations": { "f:globalpullsecret.io/retry": {} } } };
for (const [argv, fieldsV1, field, other] of [
  ["pause", ofState, "spec.managementState", ofRetry],
  ["withdraw --yes", ofState, "spec.managementState", ofRetry],
  ["retry", ofRetry, "metadata.annotations.globalpullsecret.io/retry", ofState],
] as const)
  test(`\`${argv}\` refuses to change ${field} if a GitOps tool declares it, and no other field`, async () => {
    const declared = (fields: object) => {
      const manager = { manager: "argocd-controller", operation: "Apply", fieldsV1: fields };
      return clusterWith(object({ metadata: { managedFields: [manager] } }));
    };
    const cluster = declared(fieldsV1);
    const { code, err } = await call(argv.split(" "), { cluster });
    assert.equal(code, 1);
    const why = `${field}: declared by "argocd-controller", which would revert the change`;
    assert.ok(err.includes(why), err);
    assert.deepEqual(cluster.writes, []);
    assert.equal((await call(argv.split(" "), { cluster: declared(other) })).code, 0);
  });

test("accepts a state that a GitOps tool already declares", async () => {
  const fieldsV1 = { "f:spec": { "f:managementState": {} } };
  const managedFields = [{ manager: "argocd-controller", operation: "Apply", fieldsV1 }];
  const spec = { managementState: "Withdrawn" } as const;
  const cluster = clusterWith(object({ spec, metadata: { managedFields } }));
  assert.equal((await call(["withdraw", "--yes"], { cluster })).code, 0);
  assert.equal((await call(["resume"], { cluster })).code, 1);
});

test("reads the object again after a conflict", async () => {
  const cluster = clusterWith(object({}));
  let first = true;
  cluster.before = ({ verb, path }) => {
    if (!first) return;
    first = false;
    cluster.objects.set(path, object({ metadata: { resourceVersion: "901" } }));
    throw refusal(409, verb, path);
  };
  assert.equal((await call(["pause"], { cluster })).code, 0);
  assert.equal(patched(cluster).metadata.resourceVersion, "901");
});

test("repeats a write only after a conflict, and at most five times", async () => {
  for (const [status, writes] of [
    [409, 5],
    [500, 1],
  ] as const) {
    const cluster = clusterWith(object({}));
    let count = 0;
    cluster.before = ({ verb, path }) => {
      count += 1;
      throw refusal(status, verb, path);
    };
    const { code, err } = await call(["pause"], { cluster });
    assert.deepEqual([code, count], [1, writes]);
    assert.match(err, /^patch .*Refused; /);
  }
});

test("`withdraw` asks on a terminal, and requires --yes without one", async () => {
  const cluster = clusterWith(object({}));
  const alone = await call(["withdraw"], { cluster });
  assert.equal(alone.code, 2);
  assert.match(alone.err, /^--yes: is missing; it is needed if standard input is not a/);
  const asked: string[] = [];
  const answer = (yes: boolean) => (question: string) => {
    asked.push(question);
    return Promise.resolve(yes);
  };
  const no = await call(["withdraw"], { cluster, confirm: answer(false) });
  assert.deepEqual([no.code, no.out, no.err], [1, "", "nothing is done\n"]);
  assert.deepEqual(cluster.writes, []);
  assert.equal((await call(["withdraw"], { cluster, confirm: answer(true) })).code, 0);
  assert.equal(cluster.writes.length, 1);
  assert.equal(asked[0], "Take the pull secret off every node of fake?");
});

test("writes nothing if the object does not exist", async () => {
  const cluster = new FakeCluster();
  const { code, err } = await call(["pause"], { cluster });
  assert.deepEqual([code, cluster.writes], [1, []]);
  assert.match(
    err,
    /^globalpullsecret\/cluster: not found; the controller creates it after 30 s; /,
  );
});

const fieldsV1 = { "f:spec": { "f:managementState": {} } };
const policys = [{ manager: "helm", operation: "Update", fieldsV1 }];
const declaring = (managementState: "Managed" | "Paused" | "Withdrawn") =>
  clusterWith(object({ spec: { managementState }, metadata: { managedFields: policys } }));

for (const [argv, state] of [
  ["pause", "Paused"],
  ["withdraw --yes", "Withdrawn"],
] as const)
  test(`\`${argv}\` overrides the state that Helm declares`, async () => {
    const cluster = declaring("Managed");
    assert.equal((await call(argv.split(" "), { cluster })).code, 0);
    assert.deepEqual(patched(cluster).spec, { managementState: state });
  });

test("`resume` ends a pause that Helm declares, because Helm does not revert it", async () => {
  const cluster = declaring("Paused");
  assert.equal((await call(["resume"], { cluster })).code, 0);
  assert.deepEqual(patched(cluster).spec, { managementState: "Managed" });
});

const byHelm = { annotations: { "meta.helm.sh/release-name": "gps" } };
const other = { annotations: { "meta.helm.sh/release-name": "other" } };
const reapplied = {
  annotations: { ...byHelm.annotations, "kubectl.kubernetes.io/last-applied-configuration": "{}" },
};
const serverSide = { ...byHelm, managedFields: [{ manager: "kubectl", operation: "Apply" }] };

// The object has no mark of Helm, because the controller has created it again after a deletion.
for (const [what, metadata, holderIdentity, code, writes, said] of [
  ["runs", byHelm, "a", 0, 1, /^requested/],
  ["never ran", byHelm, undefined, 0, 0, /^no controller has run here/],
  ["no longer runs", byHelm, "", 1, 0, /does not run, so nothing is withdrawn\. Start it/],
  ["was created by kubectl", {}, "a", 0, 0, /does not belong to the Helm release gps/],
  ["is of another release", other, "a", 0, 0, /does not belong to the Helm release gps/],
  ["was applied by kubectl after Helm", reapplied, "a", 1, 0, /kubectl has applied it/],
  ["was applied by the server side after Helm", serverSide, "a", 1, 0, /kubectl has applied it/],
] as const)
  test(`\`withdraw --helm-release\` makes ${writes} writes when the controller ${what}`, async () => {
    const cluster = clusterWith(object({}));
    cluster.objects.set(deployment.path, { metadata });
    if (holderIdentity !== undefined)
      cluster.objects.set(leaseIn("kube-system"), { spec: { holderIdentity } });
    const ran = await call(["withdraw", "--yes", "--helm-release=gps"], { cluster });
    assert.deepEqual([ran.code, cluster.writes.length], [code, writes]);
    assert.match(code === 0 ? ran.out : ran.err, said);
  });

test("`withdraw --wait` exits with 0 when all nodes have removed our entries or are left behind, with 1 when the rollout is halted, and with 3 when the time is over", async () => {
  for (const [conditions, code] of [
    [conditionsOf("nobody", "Withdrawn", "nothing is left"), 0],
    [conditionsOf("nobody", "NodesLeftBehind", "one may keep it"), 0],
    [conditionsOf("nobody", "NodesAwaited", "one is absent"), 3],
    [conditionsOf("person", "Halted", "no"), 1],
  ] as const) {
    const spec = { managementState: "Withdrawn" } as const;
    const cluster = clusterWith(object({ spec, status: { conditions } }));
    assert.equal((await call(["withdraw", "-y", "--wait=1s"], { cluster })).code, code);
  }
  const waiting = clusterWith(object({ spec: { managementState: "Withdrawn" } }));
  assert.equal((await call(["withdraw", "-y", "--wait=1s"], { cluster: waiting })).code, 3);
});
