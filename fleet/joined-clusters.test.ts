import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { pino } from "pino";
import { clusterProfileVersion, type ClusterProfile } from "#api/cluster-profile.ts";
import { clusterManager } from "#contract/joined.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { secretsIn } from "#kube/client/paths.ts";
import { tokenFrom } from "#kube/token.fixture.ts";
import { FakeServer } from "#test/harness/api/server.ts";
import { keepJoinedClusters } from "./joined-clusters.ts";

const profileNamed = (name: string, uid: string): ClusterProfile => ({
  apiVersion: clusterProfileVersion,
  kind: "ClusterProfile",
  metadata: { name, namespace: "clusters", uid },
  spec: { clusterManager: { name: clusterManager } },
});

test("reads the credentials of 1,000 joined clusters, at most 50 at the same time", async () => {
  const profiles = Array.from({ length: 1000 }, (_, at) => profileNamed(`c${at}`, String(at)));
  const stop = new AbortController();
  const writtenPaths = new Set<string>();
  let [open, most] = [0, 0];
  const home = {
    pages: async (_path: string, _query: object, each: (page: readonly object[]) => void) =>
      each(profiles),
    async get() {
      most = Math.max(most, (open += 1));
      // Gives all reads that can run in parallel the time to start.
      await setImmediate();
      open -= 1;
    },
    async apply(path: string) {
      writtenPaths.add(path);
      if (writtenPaths.size === profiles.length) stop.abort();
    },
  } as unknown as Cluster;
  const log = pino({ level: "silent" });
  await keepJoinedClusters({ home, log, namespaces: ["clusters"] }).until(stop.signal);
  assert.deepEqual([writtenPaths.size, most, open], [1000, 50, 0]);
});

/**
 * Follows one ClusterProfile, beside one of another manager and namespaces whose lists are refused.
 * `tick` lets seconds pass. `apply` answers the writes of the status.
 */
function followed(t: TestContext, apply: (body: ClusterProfile) => ClusterProfile) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let profiles: readonly ClusterProfile[] = [profileNamed("east", "u")];
  const list = (next: readonly ClusterProfile[]) => (profiles = next);
  const other = { ...profileNamed("north", "v"), spec: { clusterManager: { name: "other" } } };
  let sent = 0;
  const home = {
    async pages(path: string, _query: object, each: (page: readonly object[]) => void) {
      const status = Number(/refused-(\d+)/.exec(path)?.[1] ?? 200);
      if (status >= 400) throw new ApiError({ status, reason: "No", method: "GET", path });
      each([...profiles, other]);
    },
    get: async () => undefined,
    async apply(_path: string, body: ClusterProfile) {
      sent += 1;
      return apply(body);
    },
  } as unknown as Cluster;
  const stop = new AbortController();
  const log = pino({ level: "silent" });
  const namespaces = ["refused-403", "refused-404", "clusters"];
  const running = keepJoinedClusters({ home, log, namespaces }).until(stop.signal);
  t.after(async () => {
    stop.abort();
    await running;
  });
  const tick = async (seconds: number) => {
    for (let passed = 0; passed < seconds; passed += 1) {
      for (let turn = 0; turn < 5; turn += 1) await setImmediate();
      t.mock.timers.tick(1000);
    }
    for (let turn = 0; turn < 5; turn += 1) await setImmediate();
  };
  return { list, tick, sent: () => sent };
}

for (const [percent, isRenewed] of [
  [49, false],
  [51, true],
] as const)
  test(`${isRenewed ? "renews" : "keeps"} a cluster's token after ${percent} % of its time`, async () => {
    await using fakes = await FakeServer.start();
    const [api, hour, issued] = [fakes.api("east"), 3_600_000, Date.now() - percent * 36_000];
    const token = tokenFrom(issued, issued + hour);
    const answer = api.answer.bind(api);
    api.answer = (request) =>
      request.path.endsWith("/token")
        ? { status: 201, body: { status: { token } } }
        : answer(request);
    const { clusters } = JSON.parse(fakes.kubeconfig("east")) as {
      clusters: [{ cluster: object }];
    };
    const status = { accessProviders: [{ name: "secretreader", cluster: clusters[0].cluster }] };
    const [stop, uids] = [new AbortController(), new Map<string, string | undefined>()];
    const home = {
      pages: async (_path: string, _query: object, each: (page: readonly object[]) => void) =>
        each([{ ...profileNamed("east", "u"), status }]),
      get: async () => ({ metadata: { name: "east", uid: "s" }, data: { token: btoa(token) } }),
      async apply(path: string, body: ClusterProfile) {
        uids.set(path, body.metadata.uid);
        if (path.endsWith("/status")) stop.abort();
        return body;
      },
    } as unknown as Cluster;
    const log = pino({ level: "silent" });
    await keepJoinedClusters({ home, log, namespaces: ["clusters"] }).until(stop.signal);
    // With the uid, the write does not create the Secret again after a user has deleted it.
    assert.equal(uids.get(`${secretsIn("clusters")}/east`), isRenewed ? "s" : undefined);
  });

test("does not retry the status of a ClusterProfile that is gone", async (t) => {
  const { list, tick, sent } = followed(t, () => {
    throw new ApiError({ status: 403, reason: "Forbidden", method: "PATCH", path: "/x" });
  });
  await tick(5);
  assert.ok(sent() > 1, String(sent()));
  list([]);
  await tick(31);
  const before = sent();
  await tick(180);
  assert.equal(sent(), before);
});

test("leaves a status alone in which another program changed its own condition", async (t) => {
  const foreign = (status: "True" | "False") => ({
    type: "Foreign",
    status,
    reason: "Foreign",
    message: "",
    lastTransitionTime: new Date(0),
  });
  let version = 100;
  const { list, tick, sent } = followed(t, (body) => {
    const shownBy = (status: "True" | "False") => {
      version += 1;
      const metadata = { ...body.metadata, resourceVersion: String(version) };
      const conditions = [...(body.status?.conditions ?? []), foreign(status)];
      const shown = { ...body, metadata, status: { ...body.status, conditions } };
      return { ...shown, spec: profileNamed("east", "u").spec } as unknown as ClusterProfile;
    };
    const answer = shownBy("True");
    list([shownBy("False")]);
    return answer;
  });
  await tick(2);
  assert.equal(sent(), 1);
  await tick(180);
  assert.equal(sent(), 1);
});
