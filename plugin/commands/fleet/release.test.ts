/** Checks how objects are released after their program is gone. The API server is a fake. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { call, FakeCluster, mockPauses } from "#plugin/fake.fixture.ts";
import { fleetSecretsIn, leaseIn } from "#kube/client/paths.ts";

const collection = "/apis/globalpullsecret.io/v1alpha1/syncsecrets";
const ours = "globalpullsecret.io/sync-tenant";

/** Two SyncSecrets, one of them with our finalizer and another one. */
function clusterWith(lease?: object) {
  const cluster = new FakeCluster();
  for (const [name, finalizers] of Object.entries({ held: [ours, "example.com/x"], free: [] })) {
    const metadata = { name, namespace: "shop", uid: "u", resourceVersion: "1", finalizers };
    cluster.objects.set(`${collection}/${name}`, { metadata });
  }
  if (lease !== undefined)
    cluster.objects.set(leaseIn("kube-system", "global-pull-secret-sync-tenant"), { spec: lease });
  return cluster;
}

/** The Lease of a program that ends after it has renewed the Lease so many times. */
const renewed = (times: number) => {
  let reads = 0;
  return {
    holderIdentity: "a",
    leaseDurationSeconds: 15,
    get renewTime() {
      reads += 1;
      return new Date(Math.min(reads, times) * 1000).toISOString();
    },
  };
};

const now = () => new Date().toISOString();
const ended: readonly (readonly [what: string, lease: object | undefined])[] = [
  ["never ran", undefined],
  ["ended", { holderIdentity: "", renewTime: now(), leaseDurationSeconds: 15 }],
  ["was killed", { holderIdentity: "a", renewTime: "2026-01-01T00:00:00Z" }],
  ["ends within 45 s", renewed(3)],
];
for (const [what, lease] of ended)
  test(`if the program ${what}, removes our finalizer, and no other one`, async (t) => {
    mockPauses(t);
    const cluster = clusterWith(lease);
    const { code, out } = await call(["fleet release", "syncsecrets", "--yes"], { cluster });
    assert.deepEqual([code, out], [0, "1 syncsecrets released\n"]);
    const [write, ...others] = cluster.writes;
    assert.deepEqual(others, []);
    assert.equal(
      write?.path,
      collection.replace("/syncsecrets", "/namespaces/shop/syncsecrets/held"),
    );
    assert.deepEqual(write?.body, {
      metadata: { uid: "u", resourceVersion: "1", finalizers: ["example.com/x"] },
    });
  });

test("refuses while the program runs, because it would add the finalizer again", async (t) => {
  const pauses = mockPauses(t);
  const cluster = clusterWith(renewed(4));
  const { code, err } = await call(["fleet release", "syncsecrets", "--yes"], { cluster });
  assert.equal(code, 1);
  assert.match(err, /^lease\/global-pull-secret-sync-tenant: its program runs/);
  assert.equal(pauses.passed, 60_000);
  assert.deepEqual(cluster.writes, []);
});

test("releases FleetSecrets after a person has agreed, unless the fleet's controller runs", async (t) => {
  mockPauses(t);
  const path = "/apis/globalpullsecret.io/v1alpha1/fleetsecrets";
  const metadata = { name: "one", namespace: "shop", finalizers: ["globalpullsecret.io/fleet"] };
  for (const [agrees, leaseName, code] of [
    [true, "global-pull-secret-sync-tenant", 0],
    [true, "global-pull-secret-fleet", 1],
    [false, "global-pull-secret-sync-tenant", 1],
  ] as const) {
    const cluster = clusterWith();
    cluster.objects.set(`${path}/one`, { metadata });
    cluster.objects.set(leaseIn("kube-system", leaseName), { spec: renewed(4) });
    const confirm = () => Promise.resolve(agrees);
    const ran = await call(["fleet release", "fleetsecrets"], { cluster, confirm });
    assert.equal(ran.code, code, ran.err);
    const released = cluster.writes.map((write) => write.path);
    assert.deepEqual(released, code === 0 ? [`${fleetSecretsIn("shop")}/one`] : []);
  }
});

for (const kind of ["secrets", "syncsecret", "toString", "constructor"])
  test(`refuses the kind ${kind}`, async () => {
    const cluster = clusterWith();
    const { code, err } = await call(["fleet release", kind, "--yes"], { cluster });
    assert.equal(code, 2);
    assert.match(err, /^KIND ".*": is not fleetsecrets or syncsecrets/);
    assert.deepEqual(cluster.writes, []);
  });
