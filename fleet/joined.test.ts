/**
 * Checks that the API server of a hostile cluster cannot do harm. The servers are fakes, over TLS.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClusterProfile } from "#api/cluster-profile.ts";
import { joinedGuards, objectsOf } from "#contract/joined.ts";
import { ApiError, unreachable } from "#kube/client/api-error.ts";
import { readKubeconfig } from "#kube/remote.ts";
import { until } from "#test/cluster/await.ts";
import { planted, type Manner } from "#test/harness/api/manners.ts";
import { FakeApi } from "#test/harness/api/api.ts";
import { directly } from "#test/harness/api/direct.ts";
import { refuse } from "#test/harness/api/protocol.ts";
import { FakeServer } from "#test/harness/api/server.ts";
import { mockDeadlines } from "#kube/client/deadline.fixture.ts";
import { Connection } from "./connection.ts";
import { JoinedCluster } from "./joined.ts";

const collection = "/api/v1/namespaces/kube-system/secrets";

/** Access to the cluster `name`, whose fake server behaves as `manner` describes. */
function accessTo(fakes: FakeServer, manner: Manner, name = "east") {
  fakes.become(name, manner);
  const read = readKubeconfig(Buffer.from(fakes.kubeconfig(name)), name);
  assert.ok(read.ok);
  return { ok: true, access: read.access, sourceText: name } as const;
}

test("reports only the HTTP status and the reason of a cluster's answer", async () => {
  await using fakes = await FakeServer.start();
  const observation = await new JoinedCluster().observe(accessTo(fakes, "fails"));
  assert.equal(observation.kind, "away");
  assert.match("why" in observation ? observation.why : "", /GET \/version: 500 InternalError$/);
  assert.ok(!JSON.stringify(observation).includes(planted));
});

for (const [status, observed] of [
  [500, { kind: "answers", ready: false, guarded: undefined }],
  [502, { kind: "answers", ready: false, guarded: undefined }],
  [401, { kind: "refused" }],
  [403, { kind: "away", why: "GET /readyz: 403 Refused" }],
] as const)
  test(`reports a cluster whose /readyz answers ${status} as ${JSON.stringify(observed)}`, async () => {
    await using fakes = await FakeServer.start();
    const access = accessTo(fakes, "well");
    fakes.api("east").refuses = ({ path }) =>
      path === "/readyz" ? refuse(status, "Refused", planted) : undefined;
    assert.partialDeepStrictEqual(await new JoinedCluster().observe(access), observed);
  });

/** Answers to /version, and whether an API server gives such an answer. */
const versionAnswers: readonly (readonly [answer: unknown, isVersion: boolean])[] = [
  [{ gitVersion: "v1.36.0" }, true],
  [{ gitVersion: "v1.33.4-gke.1036000" }, true],
  [{ gitVersion: "v1.34.1+k3s1" }, true],
  [{ gitVersion: `v${"1".repeat(63)}` }, true],
  [{ gitVersion: `v${"1".repeat(64)}` }, false],
  [{ gitVersion: "1.36.0" }, false],
  [{ gitVersion: "v" }, false],
  [{ gitVersion: "v1.36.0\nplanted" }, false],
  [{ gitVersion: "planted v1.36.0" }, false],
  [{ gitVersion: 36 }, false],
  [{}, false],
];
for (const [answer, isVersion] of versionAnswers)
  test(`${isVersion ? "accepts" : "refuses"} ${JSON.stringify(answer)} as the answer to /version`, async (t) => {
    await using fakes = await FakeServer.start();
    const access = accessTo(fakes, "ready");
    t.mock.method(fakes.api("east"), "answer", () => ({ status: 200, body: answer }));
    assert.partialDeepStrictEqual(
      await new JoinedCluster().observe(access),
      isVersion
        ? { kind: "answers", version: (answer as { gitVersion: string }).gitVersion }
        : { kind: "away", why: "the answer to /version is not that of an API server" },
    );
  });

test("requests no second token within ten minutes, because a cluster can issue tokens that are due at once", async (t) => {
  let now = 1000;
  t.mock.method(performance, "now", () => now);
  await using fakes = await FakeServer.start();
  const joined = new JoinedCluster();
  await joined.observe(accessTo(fakes, "well"));
  const profile = { metadata: { name: "east" } } as ClusterProfile;
  const renew = async () => await joined.renew(directly(new FakeApi(), "fleet"), profile, {});
  const refused = { message: /^POST \/\S+\/token: 400 / };
  await assert.rejects(renew(), refused);
  now += 599_000;
  assert.equal(await renew(), false);
  now += 1000;
  await assert.rejects(renew(), refused);
});

type Access = ReturnType<typeof accessTo>;

const guardedIn = async (joined: JoinedCluster, access: Access) => {
  const observation = await joined.observe(access);
  return "guarded" in observation ? observation.guarded : observation.kind;
};

test("reads the policies until they are in place, and then in at least every tenth observation", async () => {
  await using fakes = await FakeServer.start();
  const [api, access, joined] = [fakes.api("east"), accessTo(fakes, "ready"), new JoinedCluster()];
  const admin = directly(api, "admin");
  assert.equal(await guardedIn(joined, access), false);
  for (const { path, body } of joinedGuards.flatMap((guard) => objectsOf(guard)))
    await admin.apply(path, body, { manager: "admin", force: true });
  assert.equal(await guardedIn(joined, access), true);
  const reads = () => api.asked.filter(({ resource }) => resource.includes("polic")).length;
  const before = reads();
  assert.equal(await guardedIn(joined, access), true);
  assert.equal(reads(), before, "they are not read each time");
  const another = accessTo(fakes, "ready", "west");
  assert.equal(await guardedIn(joined, another), false, "they are those of another cluster");
  assert.equal(await guardedIn(joined, access), true);
  api.store.clear();
  let observations = 1;
  while (observations < 20 && (await guardedIn(joined, access)) === true) observations += 1;
  assert.ok(observations <= 10, `${observations} observations`);
});

/** What a cluster's checks and a FleetSecret's connection observe. */
const observers: Readonly<Record<string, (access: Access) => Promise<unknown>>> = {
  "its checks get": async (access) => await new JoinedCluster().observe(access),
  async "its connection gets"(access) {
    const { promise: hinted, resolve: hint } = Promise.withResolvers<void>();
    const needed = [{ collection, name: "pull-secret" }];
    const connection = new Connection({ reach: async () => access, needed, besides: [], hint });
    await hinted;
    connection.close();
    return connection.found;
  },
};
for (const [what, observe] of Object.entries(observers))
  test(`counts a cluster as away if ${what} no answer for 10 s, and not before`, async (t) => {
    await using fakes = await FakeServer.start();
    const deadlines = mockDeadlines(t);
    const observed = observe(accessTo(fakes, "hangs"));
    await until("a request has begun", () => deadlines.begun() === 1);
    assert.equal(deadlines.pass(9999), 0);
    assert.equal(deadlines.pass(10_000), 1);
    assert.match(JSON.stringify(await observed), /"away".* no answer Unreachable/);
  });

test("stops reading policies at the first policy that would take much memory when parsed", async () => {
  await using fakes = await FakeServer.start();
  const observation = await new JoinedCluster().observe(accessTo(fakes, "swells"));
  assert.match(
    "why" in observation ? observation.why : observation.kind,
    /the answer has more than 10000 values$/,
  );
  // Three requests: for the version, for the readiness, and for the first of the policies.
  assert.equal(fakes.requests("east").length, 3);
});

test("refuses a list of Secrets that would take much memory when parsed", async () => {
  await using fakes = await FakeServer.start();
  const access = accessTo(fakes, "swells");
  const { promise: hinted, resolve: hint } = Promise.withResolvers<void>();
  const needed = [{ collection, name: "pull-secret" }];
  const connection = new Connection({ reach: async () => access, needed, besides: [], hint });
  await hinted;
  connection.close();
  assert.match(JSON.stringify(connection.found), /the answer has more than 100000 values/);
});

test("opens one connection to a cluster for each FleetSecret that selects it, and one for the checks", async () => {
  await using fakes = await FakeServer.start();
  const access = accessTo(fakes, "well");
  const connected = ["a", "b"].map((name) => {
    const [needed, besides] = [[{ collection, name }], [{ collection, name: `${name}-former` }]];
    return new Connection({ reach: async () => access, needed, besides, hint: () => {} });
  });
  await until("both are connected", () =>
    connected.every(({ found: objects }) => Array.isArray(objects)),
  );
  assert.equal((await new JoinedCluster().observe(access)).kind, "answers");
  // docs/extend/fleet.md gives the same number.
  assert.equal(fakes.connections, connected.length + 1);
  for (const connection of connected) connection.close();
});

test("does not repeat the names in a server's certificate", () => {
  const cause = Object.assign(new Error(`altnames: DNS:${planted}`), {
    code: "ERR_TLS_CERT_ALTNAME_INVALID",
  });
  const error = unreachable("GET", "/x", new TypeError("fetch failed", { cause }));
  assert.equal(error.bare, "GET /x: no answer Unreachable: its certificate is for another name");
  const answered = new ApiError({
    status: 500,
    reason: "InternalError",
    method: "GET",
    path: "/x",
    detail: planted,
  });
  assert.equal(answered.bare, "GET /x: 500 InternalError");
});
