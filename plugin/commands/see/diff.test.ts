import assert from "node:assert/strict";
import { test } from "node:test";
import type { GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import { globalPullSecretPath } from "#kube/client/paths.ts";
import { additionalPath, call, FakeCluster, pullSecret } from "#plugin/fake.fixture.ts";
import { object } from "#plugin/object.fixture.ts";

const nodes = {
  summary: "97/100",
  desired: 100,
  updated: 97,
  available: 97,
  unfit: 0,
  unreachable: 0,
  failed: 0,
};

function cluster(spec: GlobalPullSecretSpec = {}): FakeCluster {
  const fake = new FakeCluster();
  const registries = [{ registry: "ghcr.io", source: "original" }];
  fake.objects.set(globalPullSecretPath, object({ spec, status: { registries, nodes } }));
  fake.objects.set(
    additionalPath,
    pullSecret({ "quay.io": "robot:PLANTED1", "a.io": "u:same", "gone.io": "u:PLANTED2" }),
  );
  return fake;
}

const input = (entries: Readonly<Record<string, string>>) =>
  Buffer.from(pullSecret(entries).data?.[".dockerconfigjson"] ?? "", "base64").toString();
const edited = input({ "quay.io": "robot:PLANTED3", "a.io": "u:same", "ghcr.io": "u:PLANTED4" });
const diff = ["diff", "-f", "-"];

test("`diff` lists new, changed and removed registries, their current sources, and how many kubelets restart", async () => {
  const { code, out, err } = await call(diff, { cluster: cluster(), input: edited });
  assert.deepEqual([code, err], [0, ""]);
  const [head, ...rest] = out.trimEnd().split("\n");
  assert.equal(head, "additional-pull-secret");
  assert.match(rest[0] ?? "", /^ {2}\+ +ghcr\.io +added +served now by original$/);
  assert.match(rest[1] ?? "", /^ {2}- +gone\.io +removed$/);
  assert.match(rest[2] ?? "", /^ {2}~ +quay\.io +another credential$/);
  assert.equal(rest[3], "kubelets that would restart: 100");
  assert.doesNotMatch(out, /PLANTED/);
});

test("`diff -o json` has a stable shape, without a credential", async () => {
  const { out } = await call([...diff, "-o", "json"], { cluster: cluster(), input: edited });
  assert.deepEqual(JSON.parse(out), {
    secret: "additional-pull-secret",
    changes: [
      { registry: "ghcr.io", change: "added", servedBy: "original" },
      { registry: "gone.io", change: "removed" },
      { registry: "quay.io", change: "changed" },
    ],
    restarts: 100,
  });
  assert.doesNotMatch(out, /PLANTED/);
});

test("expects no restart without a change, or in a mode without restarts", async () => {
  const same = input({ "quay.io": "robot:PLANTED1", "a.io": "u:same", "gone.io": "u:PLANTED2" });
  const none = await call(diff, { cluster: cluster(), input: same });
  assert.equal(none.out, "additional-pull-secret: no change, and no kubelet restarts\n");
  for (const mode of ["Reread", "CredentialProvider"] as const) {
    const spared = cluster({ delivery: { mode } });
    const { out } = await call(diff, { cluster: spared, input: edited });
    assert.match(out, /kubelets that would restart: 0\n$/);
  }
});

test("refuses a file that the controller would refuse, with the reason and no credential", async () => {
  const spec = { protectedRegistries: ["ghcr.io"] };
  const kept = await call(diff, { cluster: cluster(spec), input: edited });
  assert.deepEqual([kept.code, kept.out], [1, ""]);
  assert.match(kept.err, /ghcr\.io/);
  const odd = await call(diff, {
    cluster: cluster(),
    input: '{"auths":{"a.io":{"auth":"PLANTED"}}}',
  });
  assert.equal(odd.code, 1);
  assert.doesNotMatch(odd.err, /PLANTED/);
});

test("shows all registries as new if the Secret of --source does not exist", async () => {
  const fake = cluster({ sources: [{ name: "team-a", secretRef: { name: "team-a-pull" } }] });
  const { out } = await call([...diff, "--source", "team-a"], { cluster: fake, input: edited });
  assert.match(out, /^team-a-pull\n {2}\+ +a\.io +added\n/);
});
