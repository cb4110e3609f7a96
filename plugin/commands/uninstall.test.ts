import assert from "node:assert/strict";
import { test } from "node:test";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import { globalPullSecretPath, owned } from "#kube/client/paths.ts";
import { call, FakeCluster, mockPauses } from "../fake.fixture.ts";
import { halted, object, rolling, conditionsOf } from "../object.fixture.ts";
import { definition, deployment, installation } from "../removal/objects.ts";

const spec = { managementState: "Withdrawn", sources: [] } as const;
const objectWith = (conditions: ReturnType<typeof conditionsOf>) =>
  object({ spec, status: { conditions } });
const withdrawn = objectWith(
  conditionsOf("nobody", "Withdrawn", "withdrawn: nothing of ours is left"),
);
const awaited = objectWith(conditionsOf("nobody", "NodesAwaited", "others are waited for"));

function installed(first: GlobalPullSecret): FakeCluster {
  const fake = new FakeCluster();
  for (const { path } of [...installation, definition])
    fake.objects.set(path, { metadata: { uid: path } });
  fake.change(first);
  return fake;
}

/** The path of a pod, and the pod, which runs with this account. */
const podOf = (serviceAccountName: string) =>
  ["/api/v1/namespaces/kube-system/pods/one", { spec: { serviceAccountName } }] as const;

const deletions = ({ writes }: FakeCluster) =>
  writes.filter(({ verb }) => verb === "remove").map(({ path }) => path);

test("cleans the nodes, then deletes the controller and its rights, then the CRD", async () => {
  const sources = [{ name: "team-a", secretRef: { name: "team-a-pull" } }];
  const fake = installed(object({ spec: { sources } }));
  fake.later.push(objectWith(rolling), withdrawn);
  fake.before = ({ verb }) =>
    assert.equal(verb === "remove", fake.later.length === 0 && fake.writes.length > 0);
  const { code, out, err } = await call(["uninstall", "--yes"], { cluster: fake });
  assert.equal(code, 0, err);
  assert.deepEqual(deletions(fake), [...installation.map(({ path }) => path), definition.path]);
  assert.match(
    out,
    /^PodDisruptionBudget\/\S+ deleted\n[^]*\nCustomResourceDefinition\/\S+ deleted\nyour own Secrets .*: additional-pull-secret, team-a-pull\n$/,
  );
  assert.match(err, /60 of 100 nodes/);
  assert.deepEqual(fake.writes[0]?.body, {
    metadata: { uid: "", resourceVersion: "101" },
    spec: { managementState: "Withdrawn" },
  });
});

test("does not write the object if a GitOps tool has already withdrawn it", async () => {
  const fieldsV1 = { "f:spec": { "f:managementState": {} } };
  const managedFields = [{ manager: "argocd-controller", operation: "Apply", fieldsV1 }];
  const fake = installed({ ...withdrawn, metadata: { ...withdrawn.metadata, managedFields } });
  assert.equal((await call(["uninstall", "--yes"], { cluster: fake })).code, 0);
  assert.ok(fake.writes.every(({ verb }) => verb === "remove"));
});

const refusals: readonly (readonly [
  what: string,
  first: GlobalPullSecret,
  code: number,
  why: RegExp,
])[] = [
  ["waits for an unreachable node", awaited, 3, /nothing is deleted: others are waited for/],
  [
    "exits with 3 if the rollout does not end in time",
    objectWith(rolling),
    3,
    /nothing is deleted: RollingOut: 60/,
  ],
  [
    "exits with 1 if a person must act",
    objectWith(halted),
    1,
    /^Halted: revision 8 failed on n7\n$/,
  ],
  [
    "does not change a state that a GitOps tool declares",
    object({
      metadata: {
        managedFields: [
          {
            manager: "argocd-controller",
            operation: "Apply",
            fieldsV1: { "f:spec": { "f:managementState": {} } },
          },
        ],
      },
    }),
    1,
    /declared by "argocd-controller"/,
  ],
];
for (const [what, first, code, why] of refusals)
  test(`${what}, and deletes nothing`, async () => {
    const fake = installed(first);
    const ran = await call(["uninstall", "--yes", "--timeout", "1s"], { cluster: fake });
    assert.equal(ran.code, code, ran.err);
    assert.match(ran.err, why);
    assert.deepEqual(deletions(fake), []);
  });

test("without --yes, asks on a terminal, and refuses if there is no terminal", async () => {
  const fake = installed(withdrawn);
  const alone = await call(["uninstall"], { cluster: fake });
  assert.equal(alone.code, 2);
  assert.match(alone.err, /^--yes: is missing; it is needed if standard input is not a/);
  const asked: string[] = [];
  const answer = (yes: boolean) => (question: string) => {
    asked.push(question);
    return Promise.resolve(yes);
  };
  const no = await call(["uninstall"], { cluster: fake, confirm: answer(false) });
  assert.deepEqual([no.code, no.err], [1, "nothing is done\n"]);
  assert.deepEqual(fake.writes, []);
  assert.equal((await call(["uninstall"], { cluster: fake, confirm: answer(true) })).code, 0);
  assert.match(asked[0] ?? "", /off every node of fake/);
});

test("continues after it was killed", async () => {
  const fake = installed(withdrawn);
  for (const { path } of installation.slice(0, 4)) fake.objects.delete(path);
  const again = await call(["uninstall", "--yes"], { cluster: fake });
  assert.equal(again.code, 0, again.err);
  assert.deepEqual(deletions(fake), [
    ...installation.slice(4).map(({ path }) => path),
    definition.path,
  ]);
  fake.objects.delete(globalPullSecretPath);
  const empty = await call(["uninstall", "--yes", "-o", "json"], { cluster: fake });
  assert.equal(empty.code, 0);
  assert.deepEqual(JSON.parse(empty.out), { deleted: [], kept: ["additional-pull-secret"] });
});

for (const [what, path] of [
  ["controller", deployment.path],
  ["CRD of GlobalPullSecret", definition.path],
] as const)
  test(`refuses if agents exist, but not the ${what}`, async () => {
    const fake = installed(withdrawn);
    fake.objects.delete(path);
    fake.objects.set(owned.daemonSet, {});
    const { code, err } = await call(["uninstall", "--yes"], { cluster: fake });
    assert.equal(code, 1);
    assert.match(err, new RegExp(`exists, but the ${what} does not, so`));
    assert.deepEqual(deletions(fake), []);
  });

test("leaves the objects of a Helm release to Helm", async () => {
  const fake = installed(object({}));
  const annotations = { "meta.helm.sh/release-name": "gps" };
  fake.objects.set(deployment.path, { metadata: { annotations } });
  const { code, err } = await call(["uninstall", "--yes"], { cluster: fake });
  assert.equal(code, 1);
  assert.match(err, /of a Helm release; nothing is done: helm uninstall gps -n kube-system,/);
  const elsewhere = { ...annotations, "meta.helm.sh/release-namespace": "pull" };
  fake.objects.set(deployment.path, { metadata: { annotations: elsewhere } });
  const second = await call(["uninstall", "--yes"], { cluster: fake });
  assert.match(second.err, /helm uninstall gps -n pull,/);
  assert.deepEqual(fake.writes, []);
});

test("keeps the CRD if the controller's pods still exist after --timeout, whatever the computer's clock shows", async (t) => {
  const pauses = mockPauses(t);
  let hours = 0;
  t.mock.method(Date, "now", () => (hours += 1) * 3_600_000);
  const fake = installed(withdrawn);
  fake.objects.set(...podOf("global-pull-secret-controller"));
  const { code, err } = await call(["uninstall", "--yes", "--timeout", "60s"], { cluster: fake });
  assert.equal(Math.floor(pauses.passed / 1000), 60);
  assert.deepEqual(
    [code, err],
    [3, "the controller's pods have not ended yet; run uninstall again later\n"],
  );
  assert.equal(deletions(fake).at(-1), deployment.path);
  fake.objects.set(...podOf("coredns"));
  const without = await call(["uninstall", "--yes", "--timeout", "60s"], { cluster: fake });
  assert.equal(without.code, 0, "it waits for a pod of another program");
});

const leftAt =
  "the other objects, such as the CRD of GlobalPullSecret, still exist; run uninstall again";

test("when interrupted while it waits for pods to end, stops at once and lists the deleted objects", async () => {
  const fake = installed(withdrawn);
  fake.objects.set(...podOf("global-pull-secret-controller"));
  const enough = new AbortController();
  const pages = fake.pages.bind(fake);
  fake.pages = async (...asked) => {
    await pages(...asked);
    setImmediate(() => enough.abort());
  };
  const setting = { cluster: fake, signal: enough.signal };
  const { code, out, err } = await call(["uninstall", "--yes", "--timeout", "2s"], setting);
  const deleted = installation.slice(0, 2).map(({ kind, name }) => `${kind}/${name}`);
  assert.deepEqual(
    [code, out, err],
    [3, "", `interrupted; deleted: ${deleted.join(", ")}; ${leftAt}\n`],
  );
});

test("when interrupted between two deletions, stops at once", async () => {
  const fake = installed(withdrawn);
  const enough = new AbortController();
  fake.before = () => enough.abort();
  const { code, err } = await call(["uninstall", "--yes"], {
    cluster: fake,
    signal: enough.signal,
  });
  const [{ kind, name, path } = definition] = installation;
  assert.deepEqual([code, err], [3, `interrupted; deleted: ${kind}/${name}; ${leftAt}\n`]);
  assert.deepEqual(deletions(fake), [path]);
});
