/**
 * Checks the removal of clusters that this host or another host has joined. One fake is both the
 * host and the joined cluster.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { profileOf, profilePath, tokenPath } from "#plugin/clusters/profile.ts";
import { call, FakeCluster, mockPauses, refusal } from "#plugin/fake.fixture.ts";
import { paths } from "#plugin/joining/rights.ts";
import type { Reach } from "#plugin/terminal/io.ts";

const unasked = ["fleet remove", "east", "--context", "fake"];
const words = [...unasked, "--yes"];

/**
 * A joined cluster with the account that the join `joinedBy` created. If `joinedBy` is undefined,
 * the cluster has no account.
 */
function clusterOf(joinedBy: string | undefined) {
  const cluster = new FakeCluster();
  const keep = (path: string, metadata: object, more: object = {}) =>
    cluster.objects.set(path, { ...more, metadata: { uid: "u", ...metadata } });
  keep("/api/v1/namespaces/kube-system", { uid: "id" });
  const { metadata, ...profile } = profileOf("east", "id", { context: "fake" });
  keep(profilePath("east"), metadata, profile);
  keep(tokenPath("east"), { name: "east" });
  if (joinedBy !== undefined) {
    const annotations = { "globalpullsecret.io/joined-by": joinedBy };
    keep(paths.account, { name: "global-pull-secret-joined", annotations });
  }
  return cluster;
}

test("refuses to remove a cluster that another host has joined, and lists the objects to delete there", async () => {
  const cluster = clusterOf("before/east");
  const { code, out, err } = await call(words, { cluster });
  assert.deepEqual([code, out, cluster.writes], [1, "", []]);
  assert.match(
    err,
    /^serviceaccount\/global-pull-secret-joined: exists, and was made by before\/east; /,
  );
  for (const what of ["role", "clusterrole", "global-pull-secret-joined-token", "--forget"])
    assert.ok(err.includes(what), what);
  const forgotten = await call(["fleet remove", "east", "--forget"], { cluster });
  assert.deepEqual([forgotten.code, forgotten.out], [0, "east: removed\n"]);
  assert.match(forgotten.err, /^east: the join's objects there, .* stay until you delete them$/m);
  assert.ok(cluster.objects.has(paths.account));
  assert.ok(!cluster.objects.has(profilePath("east")));
});

for (const [what, joinedBy, expected] of [
  [
    "that this host has joined",
    "id/east",
    "east: serviceaccount/global-pull-secret-joined deleted\neast: removed\n",
  ],
  ["whose account is gone already", undefined, "east: removed\n"],
] as const)
  test(`removes a cluster ${what}`, async () => {
    // Without --context, the command uses the context of the join.
    for (const argv of [words, ["fleet remove", "east", "--yes"]]) {
      const cluster = clusterOf(joinedBy);
      assert.deepEqual(await call(argv, { cluster }), { code: 0, out: expected, err: "" });
      assert.deepEqual([...cluster.objects.keys()], ["/api/v1/namespaces/kube-system"]);
    }
  });

/** The cluster to which the context leads, and the number of objects that the host then has. */
for (const [id, code, left] of [
  ["there", 0, 1],
  ["other", 1, 3],
] as const)
  test(`${code === 0 ? "removes" : "refuses to remove"} the cluster \`there\` by a context of the cluster \`${id}\``, async () => {
    const [host, there] = [clusterOf(undefined), clusterOf("host/east")];
    host.objects.set("/api/v1/namespaces/kube-system", { metadata: { uid: "host" } });
    host.objects.set(profilePath("east"), profileOf("east", "there", { context: "there" }));
    there.objects.set("/api/v1/namespaces/kube-system", { metadata: { uid: id } });
    const reach = async ({ context }: Reach) => (context === undefined ? host : there);
    const argv = ["fleet remove", "east", "--context", "there", "--yes"];
    const ran = await call(argv, { io: { reach } });
    assert.equal(ran.code, code, ran.err);
    assert.equal(host.objects.size, left);
    assert.equal(there.objects.has(paths.account), code === 1);
    assert.ok(there.objects.has(profilePath("east")), "it is another host's");
    if (code === 1) assert.match(ran.err, /^the context there leads to another cluster /);
  });

for (const [argv, code, message] of [
  [["west", "--yes"], 1, "west: not joined; kubectl pull-secret fleet list shows which are\n"],
  [["north", "--yes"], 1, /^north: not joined; /],
  [["north", "--forget"], 1, /^north: not joined; /],
  [["east", "--forget", "--context", "fake"], 2, /^--forget: does nothing there; leave out /],
] as const)
  test(`refuses \`fleet remove ${argv.join(" ")}\`, and writes nothing`, async () => {
    const cluster = clusterOf("id/east");
    const spec = { clusterManager: { name: "other.example" } };
    cluster.objects.set(profilePath("north"), {
      ...profileOf("north", "n", { context: "" }),
      spec,
    });
    const ran = await call(["fleet remove", ...argv], { cluster });
    assert.deepEqual([ran.code, cluster.writes], [code, []]);
    assert.match(ran.err, typeof message === "string" ? new RegExp(`^${message}$`) : message);
  });

test("asks before it deletes placed Secrets", async () => {
  for (const [more, answer, asked, removed] of [
    [[], true, 1, true],
    [[], false, 1, false],
    [["--yes"], false, 0, true],
  ] as const) {
    const cluster = clusterOf("id/east");
    const questions: string[] = [];
    const confirm = (question: string) => Promise.resolve(questions.push(question) > 0 && answer);
    const { code, err } = await call([...unasked, ...more], { cluster, confirm });
    assert.deepEqual([code, questions.length], [removed ? 0 : 1, asked], more.join(" "));
    assert.equal(cluster.objects.has(profilePath("east")), !removed);
    if (!removed) assert.deepEqual([err, cluster.writes], ["nothing is done\n", []]);
  }
  const { code, err } = await call(unasked, { cluster: clusterOf("id/east") });
  assert.deepEqual([code, err.split(":")[0]], [2, "--yes"]);
  const cluster = clusterOf("id/east");
  assert.equal((await call(["fleet remove", "east", "--forget"], { cluster })).code, 0);
});

/** A joined cluster, and a FleetSecret that lists the cluster in its first `times` reads. */
function listedFor(times: number) {
  const cluster = clusterOf("id/east");
  const listed = [{ name: "global-pull-secret-clusters/east" }];
  const metadata = { namespace: "kube-system", name: "pull-secret" };
  const seen = { reads: 0, deletions: [] as number[] };
  cluster.pages = async <T>(
    _: string,
    __: unknown,
    each: (items: readonly T[], version: string) => void,
  ) => {
    seen.reads += 1;
    each([{ metadata, status: { clusters: seen.reads > times ? [] : listed } } as T], "1");
  };
  cluster.before = ({ verb }) => {
    if (verb === "remove") seen.deletions.push(seen.reads);
  };
  return { cluster, seen };
}

for (const flag of ["--yes", "--forget"])
  test(`with ${flag}, deletes nothing before every FleetSecret has forgotten the cluster`, async () => {
    const { cluster, seen } = listedFor(1);
    const context = flag === "--forget" ? [] : ["--context", "fake"];
    const { code } = await call(["fleet remove", "east", ...context, flag], { cluster });
    assert.equal(code, 0);
    const [mark] = cluster.writes;
    assert.equal(mark?.path, profilePath("east"));
    assert.partialDeepStrictEqual(mark.body, {
      metadata: { uid: "u", labels: { "globalpullsecret.io/leaving": "true" } },
    });
    assert.equal(seen.deletions[0], 2);
  });

test("removes a cluster even if a FleetSecret still lists it after half a minute, and names this FleetSecret", async (t) => {
  const pauses = mockPauses(t);
  const { cluster } = listedFor(Infinity);
  const { code, err } = await call(words, { cluster });
  assert.equal(code, 0);
  assert.equal(pauses.passed, 30_000);
  assert.match(
    err,
    /^east: fleetsecret kube-system\/pull-secret still lists it .*controller runs$/m,
  );
  assert.ok(!cluster.objects.has(profilePath("east")));
});

test("if the caller is not allowed to list FleetSecrets, waits five seconds and warns", async (t) => {
  const pauses = mockPauses(t);
  const { cluster, seen } = listedFor(0);
  cluster.before = ({ verb }) => {
    if (verb === "remove") seen.deletions.push(pauses.passed);
  };
  cluster.pages = (path) => Promise.reject(refusal(403, "GET", path));
  const { code, err } = await call(words, { cluster });
  assert.equal(code, 0);
  assert.match(err, /^east: you may not list FleetSecrets; /m);
  assert.equal(seen.deletions[0], 5000);
});

test("does not wait on a host without FleetSecrets", async () => {
  const { cluster, seen } = listedFor(0);
  cluster.pages = async (path) => {
    seen.reads += 1;
    await Promise.reject(refusal(404, "GET", path));
  };
  assert.deepEqual(await call(words, { cluster }).then(({ code, err }) => [code, err]), [0, ""]);
  assert.equal(seen.deletions[0], 1);
});

test("if another host has joined the cluster, does not mark the cluster as leaving", async () => {
  const cluster = clusterOf("before/east");
  await call(words, { cluster });
  assert.ok(cluster.writes.every(({ verb }) => verb !== "apply"));
});

test("lists the clusters, also one whose removal was interrupted, with the command that finishes it", async () => {
  const cluster = clusterOf("id/east");
  const path = profilePath("east");
  const profile = cluster.objects.get(path) as { metadata: object };
  const labels = { "globalpullsecret.io/leaving": "true" };
  cluster.objects.set(path, { ...profile, metadata: { ...profile.metadata, labels } });
  const conditions = [
    { type: "Joined", status: "True", message: "joined" },
    { type: "ControlPlaneHealthy", status: "False", message: "no answer" },
    { type: "AccountGuarded", status: "False", message: "no policy" },
  ];
  const status = { version: { kubernetes: "v1.34.1" }, conditions };
  const west = profileOf("west", "other", { context: "west" });
  cluster.objects.set(profilePath("west"), { ...west, status });
  const listed = await call(["fleet list"], { cluster, colour: true });
  assert.equal(
    listed.out,
    "\u001b[1m  NAME  JOINED   HEALTHY  GUARDED  VERSION\u001b[0m\n" +
      "\u001b[33m  east  Unknown  Unknown  Unknown           is being removed; to finish: kubectl pull-secret fleet remove east\u001b[0m\n" +
      "\u001b[33m  west  True     False    False    v1.34.1  no answer\u001b[0m\n",
  );
  const collection = path.replace("/east", "");
  for (const [code, message] of [
    [404, /^clusterprofiles\.multicluster\.x-k8s\.io: not served by the host; apply /],
    [403, /403 Refused; ask for that right\n$/],
  ] as const) {
    cluster.refusals.set(collection, code);
    assert.match((await call(["fleet list"], { cluster })).err, message);
  }
});

test("escapes names from the cluster that could fool a terminal", async () => {
  const cluster = clusterOf("id/east");
  const get = cluster.get.bind(cluster);
  cluster.get = async <T>(path: string) => {
    if (!path.includes("/roles?")) return await get<T>(path);
    const annotations = { "globalpullsecret.io/joined-by": "id/east" };
    const rules = [{ resources: ["secrets"], resourceNames: ["a\u001b[2K\nwest: removed"] }];
    return { items: [{ metadata: { namespace: "web", annotations }, rules }] } as T;
  };
  const placed = { "globalpullsecret.io/fleet-owner": "id/kube-system/pull-secret" };
  const path = "/api/v1/namespaces/web/secrets/a\u001b[2K\nwest: removed";
  cluster.objects.set(path, { metadata: { uid: "u", annotations: placed } });
  const { out } = await call(words, { cluster });
  assert.match(out, /^east: secret\/a\\u\{1b\}\[2K\\u\{a\}west: removed deleted$/m);
});
