import assert from "node:assert/strict";
import { test } from "node:test";
import { wholeFleet } from "#api/whole-fleet.fixture.ts";
import type { FleetSecret } from "#api/fleet-secret.ts";
import { call, FakeCluster } from "#plugin/fake.fixture.ts";

const path = "/apis/globalpullsecret.io/v1alpha1/namespaces/kube-system/fleetsecrets/pull-secret";
const said = (...types: readonly string[]): FleetSecret => ({
  ...wholeFleet,
  status: {
    ...wholeFleet.status,
    conditions: (["Ready", "Reconciling", "Stalled", "Warning"] as const).map((type) => ({
      type,
      status: types.includes(type) ? "True" : "False",
      reason: "Why",
      message: `${type} words`,
      lastTransitionTime: "2026-11-23T09:00:00Z",
    })),
  },
});

async function shown(object: FleetSecret | undefined, ...flags: readonly string[]) {
  const cluster = new FakeCluster();
  if (object !== undefined) cluster.objects.set(path, object);
  return await call(["fleet status", ...flags], { cluster });
}

const table: readonly (readonly [FleetSecret, RegExp])[] = [
  [said("Ready"), /^kube-system\/pull-secret {2}Ready: Ready words$/m],
  [said("Stalled"), /Stalled, Why: Ready words$/m],
  [said("Reconciling"), /Reconciling: Ready words$/m],
  [said(), /pull-secret {2}Why: Ready words$/m],
  [said("Ready", "Warning"), /^Warning {3}Warning words$/m],
  [{ ...said("Ready"), metadata: { ...wholeFleet.metadata, generation: 9 } }, /not read yet$/m],
  [{ ...wholeFleet, status: {} }, /Unknown: its controller has not reported yet/],
];
for (const [object, expected] of table)
  test(`prints ${expected} first`, async () => assert.match((await shown(object)).out, expected));

test("prints a line for each cluster, or reports that there is no FleetSecret", async () => {
  const since = "2026-11-23T09:00:00Z";
  const why = "GPS435: the target exists and belongs to another program; delete or rename it there";
  assert.equal(
    (await shown(wholeFleet)).out,
    `kube-system/pull-secret  Progressing: 0 of 1 clusters have it
Brings    source-pull-secret as kube-system/pull-secret, via Direct
Failed    guest-a since ${since}, ${why}
Given up  guest-a at ${since}, ${why}
  CLUSTER  STATE   SINCE
  guest-a  Failed  ${since}  GPS435
`,
  );
  assert.equal((await shown(undefined)).out, "there is no FleetSecret\n");
  assert.equal((await shown(wholeFleet, "-n", "other")).out, "there is no FleetSecret\n");
});

test("shows the latest failures in full above the clusters, and only as codes in the clusters' rows", async () => {
  const [cluster] = wholeFleet.status.clusters ?? assert.fail();
  const [failure] = wholeFleet.status.failures ?? assert.fail();
  const reason = `${failure?.reason}: ${failure?.message}`;
  const clusters = [{ ...cluster, reason } as NonNullable<typeof cluster>];
  const { out } = await shown({ ...wholeFleet, status: { ...wholeFleet.status, clusters } });
  assert.ok(out.includes(`\nFailed    guest-a since 2026-11-23T09:00:00Z, ${reason}\n`), out);
  assert.match(out, /^ *guest-a +Failed +2026-11-23T09:00:00Z +GPS435$/m);
});

test("reports that the host does not serve FleetSecrets, and a missing right", async () => {
  const cluster = new FakeCluster();
  for (const [status, message] of [
    [404, /^fleetsecrets: not served; apply manifests\/fleet here\n$/],
    [403, /403 Refused; ask for that right\n$/],
  ] as const) {
    cluster.refusals.set(path.replace("/pull-secret", ""), status);
    const { code, err } = await call(["fleet status"], { cluster });
    assert.equal(code, 1);
    assert.match(err, message);
  }
});

test("prints JSON with -o json, and refuses a namespace that is no name", async () => {
  const { out } = await shown(wholeFleet, "-o", "json");
  assert.partialDeepStrictEqual(JSON.parse(out), [{ metadata: { name: "pull-secret" } }]);
  assert.equal((await shown(wholeFleet, "-n", "../secrets")).code, 2);
});
