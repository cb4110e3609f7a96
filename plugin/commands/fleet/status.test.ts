import assert from "node:assert/strict";
import { test } from "node:test";
import { wholeFleet } from "#api/whole-fleet.fixture.ts";
import type { FleetSecret } from "#api/fleet-secret.ts";
import { call, FakeCluster } from "#plugin/fake.fixture.ts";

/** A FleetSecret with the condition Ready, and with one cluster whose state began at `second`. */
function reported(ready: boolean, second = 0): FleetSecret {
  const since = `2026-11-23T09:00:0${second}Z`;
  const condition = { lastTransitionTime: since, reason: "Why", message: "so many have it" };
  return {
    ...wholeFleet,
    status: {
      ...wholeFleet.status,
      clusters: [{ name: "guest-a", state: "Done", since }],
      failures: [],
      conditions: [
        { ...condition, type: "Ready", status: ready ? "True" : "False" },
        { ...condition, type: "Reconciling", status: ready ? "False" : "True" },
      ],
    },
  };
}

test("until it is interrupted, `fleet status --watch` prints each change to a pipe, except changes of times", async () => {
  const cluster = new FakeCluster();
  const enough = new AbortController();
  const after = [
    () => cluster.change(reported(false)),
    () => {
      cluster.change(reported(false, 6));
      // When this callback runs, the command has already printed the previous change.
      setImmediate(() => cluster.change(reported(true)));
    },
  ];
  const received = () => (after.shift() ?? (() => enough.abort()))();
  const signal = AbortSignal.any([enough.signal, AbortSignal.timeout(5000)]);
  const { code, out, err } = await call(["fleet status", "-w"], { cluster, received, signal });
  assert.deepEqual(
    [code, out, err],
    [
      0,
      "there is no FleetSecret\n" +
        "kube-system/pull-secret  Reconciling: so many have it\n" +
        "kube-system/pull-secret  Ready: so many have it\n",
      "",
    ],
  );
});

test("`fleet status --watch` redraws on a terminal, also when only a time changes", async () => {
  const cluster = new FakeCluster();
  cluster.change(reported(true));
  const enough = new AbortController();
  const received = (text: string) => {
    if (text.includes("09:00:00Z")) cluster.change(reported(true, 6));
    if (text.includes("09:00:06Z")) enough.abort();
  };
  const terminal = { columns: 80, colour: true };
  const signal = AbortSignal.any([enough.signal, AbortSignal.timeout(5000)]);
  const { out } = await call(["fleet status", "-w"], { cluster, terminal, received, signal });
  const [before, first = "", second = "", ...more] = out.split("\u001b[H\u001b[J");
  assert.deepEqual([before, more], ["", []]);
  const ready = "\u001b[32mkube-system/pull-secret  Ready: so many have it\u001b[0m\n";
  for (const [screen, time] of [
    [first, "2026-11-23T09:00:00Z"],
    [second, "2026-11-23T09:00:06Z"],
  ] as const) {
    assert.ok(screen.startsWith(ready), JSON.stringify(screen));
    assert.match(screen, new RegExp(`guest-a +Done +${time}`));
  }
});

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

test("prints JSON with -o json, but not together with --watch", async () => {
  const { out } = await shown(wholeFleet, "-o", "json");
  assert.partialDeepStrictEqual(JSON.parse(out), [{ metadata: { name: "pull-secret" } }]);
  assert.equal((await shown(wholeFleet, "-w", "-o", "json")).code, 2);
  assert.equal((await shown(wholeFleet, "-n", "../secrets")).code, 2);
});
