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
  const { out } = await shown(wholeFleet);
  assert.match(out, /^ *guest-a +Failed +2026-11-23T09:00:00Z +GPS435$/m);
  assert.match((await shown(undefined)).out, /^there is no FleetSecret$/m);
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

test("prints JSON with -o json, but not together with --watch", async () => {
  const { out } = await shown(wholeFleet, "-o", "json");
  assert.partialDeepStrictEqual(JSON.parse(out), [{ metadata: { name: "pull-secret" } }]);
  assert.equal((await shown(wholeFleet, "-w", "-o", "json")).code, 2);
  assert.equal((await shown(wholeFleet, "-n", "../secrets")).code, 2);
});
